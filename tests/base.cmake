kf_test(base kf_common)
kf_test(event_stream kf_common)
kf_test(signature kf_common)
