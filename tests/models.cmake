# Models over the network: the event-stream parser, connections, providers, budgets.
kf_test(sse kf_agent)
kf_fuzz(sse kf_agent)
kf_test(budget kf_agent)
kf_test(llm_pace kf_agent)
