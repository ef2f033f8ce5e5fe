# Strategies: units. The search itself is unit.search (workers.cmake).
kf_test(canonical_source kf_scan FULL equal_forms_are_equal_binaries)
kf_tier(plain unit.canonical_source.equal_forms_are_equal_binaries) # it runs the compiler
target_compile_definitions(test_canonical_source PRIVATE KFORGE_CPUCC="$<TARGET_FILE:kforge-cpucc>")
add_dependencies(test_canonical_source kforge-cpucc kfcpu-headers)
kf_test(population kf_commands)
kf_test(strategy kf_commands)
# The search benchmark (see bench/bench_search.c). Its workers use the real protocol with a table of
# verdicts.
kf_bench(search kf_commands)
target_sources(bench_search PRIVATE cli/fake_prepare.c bench/search_space.c bench/search_table.c bench/search_measure.c bench/search_model.c bench/search_loop.c)
target_compile_definitions(bench_search PRIVATE KFORGE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
