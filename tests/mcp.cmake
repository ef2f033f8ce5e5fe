# The Model Context Protocol (agent/mcp). The unit test has a double of the service that judges.
kf_test(mcp kf_mcp)
