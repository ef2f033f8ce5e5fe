# The store's second life: rewards, merging, exports.
kf_test(reward kf_store kf_model)
