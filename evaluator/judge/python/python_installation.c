#include "python_installation.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kforge/buffer.h"
#include "kforge/run_capture.h"
#include "kforge/cleanup.h"
#include "kforge/json.h"

#define ANSWER_BYTES (64u << 10)
#define SECONDS 20

/* ---- questions to a Python ------------------------------------------------------------------- */

/* Prints the program, versions and folders. Reads the version from the text of torch/version.py,
 * since importing PyTorch takes seconds. Folders are the installation and PyTorch's: sys.path may
 * name a project's own, which holds oracles. */
static const char question[] =
    "import importlib.util, json, os, re, sys\n"
    "spec = importlib.util.find_spec('torch')\n"
    "version = ''\n"
    "places = list(spec.submodule_search_locations or []) if spec else []\n"
    "for place in places:\n"
    "    try:\n"
    "        text = open(os.path.join(place, 'version.py')).read()\n"
    "        version = (re.search(r'__version__\\s*=\\s*[\"\\']([^\"\\']+)', text) or [0, ''])[1]\n"
    "    except OSError:\n"
    "        pass\n"
    "paths = [sys.prefix, sys.base_prefix, os.path.dirname(os.path.realpath(sys.executable))]\n"
    "for place in places:\n"
    "    above = os.path.dirname(place)\n"
    "    own = os.path.basename(above) in ('site-packages', 'dist-packages')\n"
    "    paths.append(above if own else place)\n"
    "seen = []\n"
    "for path in map(os.path.abspath, paths):\n"
    "    for known in seen + ['/usr']:\n"
    "        if path == known or path.startswith(known + '/'):\n"
    "            break\n"
    "    else:\n"
    "        seen.append(path)\n"
    "print(json.dumps({'program': sys.executable, 'version': '%d.%d.%d' % sys.version_info[:3], "
    "'torch': version, 'paths': seen}))\n";

static bool copy(char *to, size_t size, const cJSON *object, const char *key)
{
    const char *text = kf_json_get_text(object, key, NULL);
    return text && (size_t)snprintf(to, size, "%s", text) < size;
}

/* True if other users may write the file or its folder. */
static bool is_open_to_others(const char *path)
{
    char folder[PATH_MAX];
    struct stat status;
    if (stat(path, &status) == 0 && status.st_mode & S_IWOTH) return true;
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (!slash) return false;
    slash[slash == folder] = '\0';
    return stat(folder, &status) == 0 && status.st_mode & S_IWOTH;
}

/* True if other users may replace the program, or the file that it is a link to. */
static bool is_unsafe(const char *program)
{
    kf_autofree char *real = realpath(program, NULL);
    return is_open_to_others(program) || (real && is_open_to_others(real));
}

static bool look_at(const char *program, kf_python *python)
{
    const char *const argv[] = {program, "-I", "-c", question, NULL};
    kf_autofree char *answer = kf_run_capture(argv, NULL, ANSWER_BYTES, SECONDS);
    kf_auto(cJSON) json = answer ? cJSON_Parse(answer) : NULL;
    const cJSON *path;
    *python = (kf_python){0};
    if (!copy(python->program, sizeof python->program, json, "program") ||
        !copy(python->version, sizeof python->version, json, "version") ||
        !copy(python->torch, sizeof python->torch, json, "torch") || python->program[0] != '/')
        return false;
    cJSON_ArrayForEach(path, cJSON_GetObjectItemCaseSensitive(json, "paths"))
    {
        if (!cJSON_IsString(path) || python->path_count == KF_PYTHON_PATHS ||
            strlen(path->valuestring) >= sizeof python->paths[0])
            continue;
        strcpy(python->paths[python->path_count++], path->valuestring);
    }
    return true;
}

static bool is_older(const char *version, const char *least)
{
    int have[2] = {0}, want[2] = {0};
    if (sscanf(version, "%d.%d", &have[0], &have[1]) < 1) return true;
    sscanf(least, "%d.%d", &want[0], &want[1]);
    return have[0] < want[0] || (have[0] == want[0] && have[1] < want[1]);
}

/* ---- the Pythons to try ---------------------------------------------------------------------- */

/* Adds `folder`/python3 unless it is in the list. False if it can't be executed. */
static bool add(kf_python_program *programs, size_t *count, const char *folder, size_t length,
                const char *from)
{
    kf_python_program *p = &programs[*count];
    if (length + sizeof "/python3" > sizeof p->path) return false;
    sprintf(p->path, "%.*s/python3", (int)length, folder);
    if (access(p->path, X_OK) != 0) return false;
    for (size_t i = 0; i < *count; i++)
        if (strcmp(programs[i].path, p->path) == 0) return true;
    p->from = from;
    (*count)++;
    return true;
}

size_t kf_python_programs(kf_python_program programs[KF_PYTHON_PROGRAMS])
{
    const char *given = getenv("KFORGE_PYTHON"), *venv = getenv("VIRTUAL_ENV"),
               *path = getenv("PATH");
    char folder[sizeof programs->path];
    size_t count = 0;
    if (given && *given) {
        snprintf(programs->path, sizeof programs->path, "%s", given);
        programs->from = "KFORGE_PYTHON";
        return 1;
    }
    if (venv && *venv == '/' && (size_t)snprintf(folder, sizeof folder, "%s/bin", venv) < 1000)
        add(programs, &count, folder, strlen(folder), "VIRTUAL_ENV");
    /* Only the first one in PATH. A relative folder depends on the working folder. */
    for (const char *at = path ? path : ""; *at; at += strspn(at, ":")) {
        size_t length = strcspn(at, ":");
        if (*at == '/' && add(programs, &count, at, length, "PATH")) break;
        at += length;
    }
    add(programs, &count, "/usr/bin", strlen("/usr/bin"), "/usr/bin");
    return count;
}

/* ---- the one with PyTorch -------------------------------------------------------------------- */

static struct {
    kf_python python;
    kf_error error;
    bool found;
} result;

/* Looks at the Pythons until one has a PyTorch that is new enough. Writes why the others are not
 * used. *runs is true if one of them runs. */
static bool choose(const kf_python_program *programs, size_t count, kf_buffer *unused, bool *runs)
{
    kf_python *python = &result.python;
    for (size_t i = 0; i < count; i++) {
        const char *path = programs[i].path, *from = programs[i].from, *comma = i ? ", " : "";
        bool unsafe = is_unsafe(path), answers = !unsafe && look_at(path, python);
        *runs |= answers;
        python->from = from;
        if (unsafe || (answers && is_unsafe(python->program)))
            kf_buffer_format(unused, "%s%s of %s can be changed by other users", comma, path, from);
        else if (!answers)
            kf_buffer_format(unused, "%s%s of %s does not run", comma, path, from);
        else if (!python->torch[0])
            kf_buffer_format(unused, "%s%s of %s (Python %s) has no PyTorch", comma, path, from,
                             python->version);
        else if (is_older(python->torch, KF_TORCH_MIN))
            kf_buffer_format(unused, "%s%s of %s has PyTorch %s, and " KF_TORCH_MIN " is the least",
                             comma, path, from, python->torch);
        else
            return true;
    }
    return false;
}

static void find(void)
{
    kf_python_program programs[KF_PYTHON_PROGRAMS];
    kf_autobuffer unused = {0};
    bool runs = false;
    size_t count = kf_python_programs(programs);
    result.found = choose(programs, count, &unused, &runs);
    const char *why = unused.data ? unused.data : "there is no python3 in PATH or /usr/bin";
    if (result.found)
        snprintf(result.python.unused, sizeof result.python.unused, "%s",
                 unused.data ? unused.data : "");
    else if (!runs)
        kf_fail(&result.error, KF_ERROR_MACHINE,
                "Python is missing: %s; install python3 and PyTorch (`apt-get install "
                "python3-torch`), or set KFORGE_PYTHON to a Python with PyTorch",
                why);
    else
        kf_fail(&result.error, KF_ERROR_MACHINE,
                "PyTorch is missing: %s; install it with `%s -m pip install torch` or `apt-get "
                "install python3-torch`, or set KFORGE_PYTHON to a Python with PyTorch",
                why, programs[0].path);
}

const kf_python *kf_python_find(kf_error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find);
    if (result.found) return &result.python;
    kf_fail_copy(error, &result.error);
    return NULL;
}
