# Models over the network: the event-stream parser, connections, providers, budgets.
kf_test(sse kf_agent)
kf_fuzz(sse kf_agent)
