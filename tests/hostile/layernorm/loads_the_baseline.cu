// Loads the baseline's binary from where it might lie beside its own.
// rule: L2
// expect: wrong_result output.mismatch
#include <cuda_runtime.h>
#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <string>
#include <string.h>

typedef void (*call)(void *const *, const unsigned long long *, cudaStream_t);

static int own_folder(struct dl_phdr_info *info, size_t, void *into)
{
    std::string path = info->dlpi_name ? info->dlpi_name : "";
    if (path.find("candidate") != std::string::npos) *(std::string *)into = path.substr(0, path.rfind('/'));
    return 0;
}

static call search(const std::string &folder, int depth)
{
    DIR *entries = depth < 3 ? opendir(folder.c_str()) : nullptr;
    call found = nullptr;
    while (struct dirent *entry = entries ? readdir(entries) : nullptr) {
        std::string name = entry->d_name;
        if (name[0] == '.') continue;
        if (entry->d_type == DT_DIR) found = found ? found : search(folder + "/" + name, depth + 1);
        if (name.find(".so") == std::string::npos || name == "candidate.so") continue;
        void *library = dlopen((folder + "/" + name).c_str(), RTLD_NOW);
        if (library && !found) found = (call)dlsym(library, "kforge_entry");
    }
    if (entries) closedir(entries);
    return found;
}

extern "C" void layernorm(const float *x, const float *gamma, const float *beta, float *y, int64_t rows, int64_t cols,
                          cudaStream_t stream)
{
    static std::string folder;
    if (folder.empty()) dl_iterate_phdr(own_folder, &folder);
    call baseline = search(folder.empty() ? "/tmp" : folder + "/..", 0);
    if (!baseline) return;
    void *buffers[] = {(void *)x, (void *)gamma, (void *)beta, y, nullptr, nullptr};
    unsigned long long scalars[6] = {0, 0, 0, 0, (unsigned long long)rows, (unsigned long long)cols};
    baseline(buffers, scalars, stream);
}
