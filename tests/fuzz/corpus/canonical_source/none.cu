int line() { return __LINE__; }
char a = "\x41"[0]; auto f = [&](int i) { return i; };
