# Counters, roofline, occupancy: what of them needs no GPU.
kf_test(occupancy kf_model)
kf_test(counters kf_model)
