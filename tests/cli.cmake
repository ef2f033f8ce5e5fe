# The command line: parsing and tables as units; whole commands as shell scripts against the built program (cli.NAME).
kf_test(options kf_agent)
