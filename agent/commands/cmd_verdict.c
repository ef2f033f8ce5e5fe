/* `kforge verdict keygen|verify`: keys for `kforge eval --sign`, and the check of signatures. */
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "kforge/cleanup.h"
#include "kforge/file.h"
#include "kforge/job.h"
#include "kforge/json.h"
#include "kforge/signature.h"
#include "kforge/verdict.h"

typedef struct settings {
    const char *key;
} settings;

static int run_keygen(const kf_invocation *invocation, const void *values, kf_error *error)
{
    (void)values;
    char public_key[KF_PUBLIC_KEY_HEX];
    if (!kf_signing_key_make(invocation->arguments[0], public_key, error)) return -1;
    fprintf(invocation->output, "%s\n", public_key);
    return KF_EXIT_DONE;
}

static int run_verify(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const settings *wanted = values;
    const char *path = invocation->arguments[0];
    char public_key[KF_PUBLIC_KEY_HEX] = "";
    size_t size;
    /* A shortened key would look like another key, which is a statement about the verdict. So it is
     * an error. */
    if (wanted->key && (strlen(wanted->key) != KF_PUBLIC_KEY_HEX - 1 ||
                        strspn(wanted->key, "0123456789abcdef") != KF_PUBLIC_KEY_HEX - 1))
        return kf_fail(error, KF_ERROR_INPUT,
                       "--key: expected %d hexadecimal digits, as `kforge verdict keygen` prints "
                       "them, found \"%.80s\"",
                       KF_PUBLIC_KEY_HEX - 1, wanted->key) -
               1;
    kf_autofree char *text = kf_file_read(path, KF_JOB_BYTES, &size, error);
    kf_auto(cJSON) json = text ? kf_json_parse(text, size, KF_JOB_BYTES, path, error) : NULL;
    kf_auto(kf_verdict) verdict = json ? kf_verdict_from_json(json, error) : NULL;
    if (!verdict) return -1;
    kf_error why = {0};
    if (!kf_json_verify(json, public_key, &why)) {
        if (why.code != KF_ERROR_INPUT) {
            kf_fail_copy(error, &why);
            return -1;
        }
        fprintf(invocation->output, "%s: %s\n", path, why.text);
        return KF_EXIT_NOTHING;
    }
    if (wanted->key && strcmp(wanted->key, public_key) != 0) {
        fprintf(invocation->output, "%s: signed by another key, %s\n", path, public_key);
        return KF_EXIT_NOTHING;
    }
    bool replayed = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(verdict->provenance, "replayed"));
    fprintf(invocation->output, "%s: %s, signed by %s%s\n", path, kf_status_name(verdict->status),
            public_key, replayed ? "; a replay: its inputs were known beforehand" : "");
    return KF_EXIT_DONE;
}

const kf_command kf_command_verdict_keygen = {
    .name = "verdict keygen",
    .synopsis = "FILE",
    .summary = "Make a key for signing verdicts",
    .description = "Writes a new Ed25519 key to FILE, readable for its owner only, and prints the "
                   "public key. FILE must not exist.",
    .examples = "kforge verdict keygen ~/.config/kforge/signing\tprints the public key\n",
    .least_arguments = 1,
    .most_arguments = 1,
    .run = run_keygen,
};

static const kf_option verify_options[] = {
    {KF_OPTION(TEXT, "key", "HEX", settings, key),
     .help = "Public key of the signer. Without it any key passes, and is printed."},
    {0},
};

const kf_command kf_command_verdict_verify = {
    .name = "verdict verify",
    .synopsis = "FILE",
    .summary = "Check the signature of a verdict",
    .description =
        "FILE is the output of `kforge eval --json --sign KEYFILE`. A good signature proves that "
        "the holder of the key signed exactly this verdict. It proves nothing about the "
        "machine.\n\nExit status: 0 good, 1 wrong or missing, 2 not a verdict.",
    .examples = "kforge verdict verify verdict.json --key 3f1c…\n",
    .least_arguments = 1,
    .most_arguments = 1,
    .options = verify_options,
    .settings_size = sizeof(settings),
    .run = run_verify,
};
