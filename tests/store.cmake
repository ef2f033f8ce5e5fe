kf_test(store kf_store)
