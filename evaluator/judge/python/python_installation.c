#include "python_installation.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/run_capture.h"
#include "kforge/cleanup.h"
#include "kforge/json.h"

#define ANSWER_BYTES (64u << 10)
#define SECONDS 20

/* Prints the program, versions and folders. Reads the version from the text of torch/version.py,
 * since importing PyTorch takes seconds. */
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
    "paths += [path for path in sys.path if os.path.isdir(path)] + places\n"
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
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    return text && (size_t)snprintf(to, size, "%s", text) < size;
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

static struct {
    kf_python python;
    kf_error error;
    bool found;
} result;

static void find(void)
{
    const char *given = getenv("KFORGE_PYTHON");
    const char *const programs[] = {given && *given ? given : "/usr/bin/python3",
                                    given && *given ? NULL : "python3", NULL};
    static const char todo[] = "install it with `apt-get install python3-torch` or `pip install "
                               "torch`, or set KFORGE_PYTHON to the Python that has it";
    kf_python first = {0};
    for (size_t i = 0; programs[i]; i++) {
        kf_python seen;
        if (!look_at(programs[i], &seen)) continue;
        if (!first.program[0]) first = seen;
        if (!seen.torch[0]) continue;
        result.python = seen;
        if (!is_older(seen.torch, KF_TORCH_MIN)) {
            result.found = true;
            return;
        }
        kf_fail(&result.error, KF_ERROR_MACHINE, "PyTorch %s of %s is too old: %s is the least; %s",
                seen.torch, seen.program, KF_TORCH_MIN, todo);
        return;
    }
    result.python = first;
    if (first.program[0])
        kf_fail(&result.error, KF_ERROR_MACHINE,
                "PyTorch is missing: Python %s (%s) finds no module torch; %s", first.version,
                first.program, todo);
    else
        kf_fail(&result.error, KF_ERROR_MACHINE,
                "Python is missing: %s does not run; install python3 and PyTorch: %s", programs[0],
                todo);
}

const kf_python *kf_python_find(kf_error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find);
    if (result.found) return &result.python;
    kf_fail_copy(error, &result.error);
    return NULL;
}
