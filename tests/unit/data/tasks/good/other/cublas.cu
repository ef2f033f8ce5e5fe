// other/cublas.cu of the test task
int only_text;
