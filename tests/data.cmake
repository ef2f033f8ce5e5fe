# The store's second life: rewards, merging, exports.
kf_test(reward kf_store kf_model)
kf_test(store_merge kf_store PkgConfig::SQLITE)
