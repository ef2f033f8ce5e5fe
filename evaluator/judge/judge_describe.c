/* Descriptions as JSON: of the device, and of a verdict's origin. */
#include "judge_describe.h"

#include <stdlib.h>
#include <sys/utsname.h>

#include "judge_internal.h"
#include "kforge/json.h"
#include "python_installation.h"

/* ---- the device ------------------------------------------------------------------------------ */

int kf_judge_gpu_count(void)
{
    return kf_device_cuda_count();
}

bool kf_judge_gpu_trouble(char *text, size_t size)
{
    return kf_device_cuda_trouble(text, size);
}

const char *kf_judge_device(const kf_judge *judge)
{
    return judge->device->name;
}

const char *kf_judge_hardware(const kf_judge *judge)
{
    return judge->device->hardware;
}

const char *kf_judge_environment_id(const kf_judge *judge)
{
    return judge->environment_id;
}

cJSON *kf_judge_describe(const kf_judge *judge)
{
    kf_auto(cJSON) object = cJSON_CreateObject();
    if (!object || !cJSON_AddStringToObject(object, "name", judge->device->name) ||
        !cJSON_AddStringToObject(object, "hardware", judge->device->hardware) ||
        !judge->device->operations->describe(judge->device, object))
        return NULL;
    return kf_steal(&object);
}

cJSON *kf_judge_torch(kf_error *error)
{
    const kf_python *python = kf_python_find(error);
    kf_auto(cJSON) object = python ? cJSON_CreateObject() : NULL;
    if (!python) return NULL;
    if (object && cJSON_AddStringToObject(object, "python", python->version) &&
        cJSON_AddStringToObject(object, "program", python->program) &&
        cJSON_AddStringToObject(object, "torch", python->torch))
        return kf_steal(&object);
    kf_fail_memory(error, "a description of PyTorch");
    return NULL;
}

/* ---- a verdict's origin ---------------------------------------------------------------------- */

bool kf_judge_describe_build(kf_verdict *verdict, const kf_job *job, const kf_build *build)
{
    kf_auto(cJSON) object = cJSON_CreateObject();
    cJSON *flags = object ? cJSON_AddArrayToObject(object, "flags") : NULL;
    if (!flags) return false;
    for (size_t i = 0; i < job->flag_count; i++) {
        cJSON *flag = cJSON_CreateString(job->flags[i]);
        if (!flag || !cJSON_AddItemToArray(flags, flag)) return false;
    }
    kf_json_add_number(object, "seconds", build->seconds);
    if (!cJSON_AddStringToObject(object, "log", build->log ? build->log : "")) return false;
    const cJSON *entry;
    cJSON_ArrayForEach(entry, build->report)
    {
        cJSON *copy = cJSON_Duplicate(entry, true);
        if (!copy || !cJSON_AddItemToObject(object, entry->string, copy)) return false;
    }
    cJSON_Delete(verdict->build);
    verdict->build = kf_steal(&object);
    verdict->build_seconds = build->seconds;
    return kf_verdict_set_text(&verdict->binary_hash, build->binary_hash) &&
           kf_verdict_set_text(&verdict->code_hash, build->code_hash);
}

/* Adds the options of the job. With task, source and flags they repeat the job: `kforge eval
 * --replay` reads them. */
static bool describe_options(cJSON *object, const kf_job_options *o)
{
    cJSON *options = cJSON_AddObjectToObject(object, "options");
    if (!options) return false;
    kf_json_add_number(options, "seconds", o->seconds);
    kf_json_add_number(options, "half_width", o->half_width);
    kf_json_add_number(options, "timeout_seconds", o->timeout_seconds);
    kf_json_add_number(options, "build_seconds", o->build_seconds);
    if (o->baseline && !cJSON_AddStringToObject(options, "baseline", o->baseline)) return false;
    return cJSON_AddBoolToObject(options, "check_only", o->check_only) &&
           cJSON_AddBoolToObject(options, "asan", o->asan) &&
           cJSON_AddBoolToObject(options, "verify", o->verify) &&
           (o->unseen || cJSON_AddFalseToObject(options, "unseen")) &&
           (!o->torch || cJSON_AddTrueToObject(options, "torch")) &&
           (!o->replay_key ||
            cJSON_AddTrueToObject(
                object, "replayed")); /* its inputs were known beforehand: no evidence of speed */
}

bool kf_judge_describe_origin(kf_verdict *verdict, const kf_judge *judge, const kf_job *job,
                              const kf_secret *secret, int layers)
{
    kf_auto(cJSON) object = cJSON_CreateObject();
    char hex[65];
    struct utsname host;
    kf_autofree char *toolchain = judge->device->operations->toolchain(judge->device);
    kf_secret_hex(secret, hex);
    if (!object || !toolchain || !cJSON_AddStringToObject(object, "kforge", KFORGE_VERSION) ||
        !cJSON_AddStringToObject(object, "toolchain", toolchain) ||
        !cJSON_AddStringToObject(object, "compiler", judge->device->compiler))
        return false;
    if (uname(&host) == 0) {
        cJSON_AddStringToObject(object, "host", host.nodename);
        cJSON_AddStringToObject(object, "kernel", host.release);
    }
    cJSON *device = kf_judge_describe(judge),
          *torch = kf_task_is_torch(job->task) ? kf_judge_torch(NULL) : NULL;
    if (torch) cJSON_AddItemToObject(object, "torch", torch);
    if (!device || !cJSON_AddItemToObject(object, "device", device) ||
        !describe_options(object, &job->options))
        return false;
    cJSON *sandbox = cJSON_AddArrayToObject(object, "sandbox"),
          *keys = cJSON_AddArrayToObject(object, "keys");
    if (!sandbox || !keys) return false;
    for (int bit = 1; bit < KF_LAYER_ALL; bit <<= 1)
        if (layers & bit)
            cJSON_AddItemToArray(sandbox,
                                 cJSON_CreateString(kf_sandbox_layer_name((kf_sandbox_layer)bit)));
    /* it is of no use any more: the next job has another */
    cJSON_AddItemToArray(keys, cJSON_CreateString(hex));
    cJSON_Delete(verdict->provenance);
    verdict->provenance = kf_steal(&object);
    return true;
}
