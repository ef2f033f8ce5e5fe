kf_test(store kf_store)
kf_test(store_population kf_store)
kf_test(store_faults kf_store PkgConfig::SQLITE)
kf_bench(store kf_store)
