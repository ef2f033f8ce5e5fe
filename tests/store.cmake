kf_test(store kf_store)
kf_test(store_population kf_store)
kf_test(store_faults kf_store PkgConfig::SQLITE)
kf_test(store_memory kf_store PkgConfig::SQLITE)
target_link_options(test_store_memory PRIVATE
  -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc -Wl,--wrap=strdup -Wl,--wrap=strndup)
kf_test(store_checksum kf_store PkgConfig::SQLITE)
kf_test(store_enum_text kf_store kf_task PkgConfig::SQLITE)
kf_bench(store kf_store)
