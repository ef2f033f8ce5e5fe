kf_test(store kf_store)
kf_bench(store kf_store)
