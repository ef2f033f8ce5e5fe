/* Canonical texts, and signatures under them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "test_main.h"
#include "kforge/cleanup.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "kforge/signature.h"

static char folder[] = "/tmp/kforge-signature.XXXXXX", key_path[64];

static cJSON *parsed(const char *text)
{
    kf_error error = {0};
    cJSON *json = kf_json_parse(text, strlen(text), 1 << 20, "test", &error);
    if (!json) fail_msg("%s", error.text);
    return json;
}

static void canonical(const char *text, const char *expected)
{
    kf_auto(cJSON) json = parsed(text);
    kf_autofree char *got = kf_json_canonical(json);
    assert_string_equal(got, expected);
}

static void texts_are_canonical(void **state)
{
    (void)state;
    canonical("{\"b\": 1, \"a\": [ true, false, null ], \"B\": {}}",
              "{\"B\":{},\"a\":[true,false,null],\"b\":1}");
    canonical("{\"s\": \"a\\u0041\\/\\\"\\\\\\n\\u00e4\"}",
              "{\"s\":\"aA/\\\"\\\\\\u000a\xc3\xa4\"}");
    canonical("[0.1, 1e3, -0.0, 1.0000000000000002, 9007199254740991, 1e300]",
              "[0.1,1000,0,1.0000000000000002,9007199254740991,1e+300]");
    /* "signature" is left out at the top only. */
    canonical("{\"signature\": 1, \"x\": {\"signature\": 2}}", "{\"x\":{\"signature\":2}}");
    kf_autofree char *again = NULL;
    const char *text = "{\"n\":0.30000000000000004,\"t\":\"x\"}";
    kf_auto(cJSON) json = parsed(text);
    again = kf_json_canonical(json);
    assert_string_equal(again, text);
}

static void depth_is_limited(void **state)
{
    (void)state;
    cJSON *top = cJSON_CreateObject(), *at = top;
    for (int i = 0; i < 2 * KF_JSON_DEPTH; i++) at = cJSON_AddObjectToObject(at, "x");
    assert_null(kf_json_canonical(top));
    cJSON_Delete(top);
}

static void write_key(const char *text, mode_t mode)
{
    kf_error error = {0};
    unlink(key_path);
    if (!kf_file_write(key_path, text, strlen(text), &error)) fail_msg("%s", error.text);
    assert_int_equal(chmod(key_path, mode), 0);
}

/* RFC 8032, section 7.1, test 1: the seed and the public key that belongs to it. */
static void keys_are_those_of_the_standard(void **state)
{
    (void)state;
    kf_error error = {0};
    char public_key[KF_PUBLIC_KEY_HEX];
    write_key("kforge-ed25519 9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60\n",
              0600);
    kf_auto(cJSON) json = parsed("{\"a\": 1}");
    kf_autofree char *text = kf_json_signed(json, key_path, &error);
    if (!text) fail_msg("%s", error.text);
    kf_auto(cJSON) signed_json = parsed(text);
    if (!kf_json_verify(signed_json, public_key, &error)) fail_msg("%s", error.text);
    assert_string_equal(public_key,
                        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
    /* Ed25519 is deterministic: the same text again. */
    kf_autofree char *again = kf_json_signed(signed_json, key_path, &error);
    assert_string_equal(text, again);
}

static void a_made_key_signs(void **state)
{
    (void)state;
    kf_error error = {0};
    char made[KF_PUBLIC_KEY_HEX], found[KF_PUBLIC_KEY_HEX];
    struct stat status;
    unlink(key_path);
    assert_true(kf_signing_key_make(key_path, made, &error));
    assert_int_equal(stat(key_path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_false(kf_signing_key_make(key_path, made, &error));
    assert_int_equal(error.code, KF_ERROR_INPUT);
    kf_auto(cJSON) json = parsed("{\"speedup\": 1.25, \"samples\": [0.1, 0.2]}");
    kf_autofree char *text = kf_json_signed(json, key_path, &error);
    kf_auto(cJSON) good = parsed(text);
    assert_true(kf_json_verify(good, found, &error));
    assert_string_equal(made, found);
    cJSON_SetNumberValue(cJSON_GetObjectItem(good, "speedup"), 1.2500000000000002);
    assert_false(kf_json_verify(good, found, &error));
    assert_non_null(strstr(error.text, "does not match"));
}

static void what_does_not_verify(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"a\": 1}",
        "{\"a\": 1, \"signature\": \"yes\"}",
        "{\"a\": 1, \"signature\": {}}",
        "{\"a\": 1, \"signature\": {\"algorithm\": \"none\", \"key\": \"\", \"value\": \"\"}}",
        "{\"a\": 1, \"signature\": {\"algorithm\": \"ed25519\", \"key\": "
        "\"D75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a\", \"value\": \"00\"}}",
        "{\"a\": 1, \"signature\": {\"algorithm\": \"ed25519\", \"key\": "
        "\"0000000000000000000000000000000000000000000000000000000000000000\", \"value\": "
        "\"0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
        "00000000000000000000000000000000"
        "00000000"
        "0000\"}}",
    };
    char public_key[KF_PUBLIC_KEY_HEX];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        kf_error error = {0};
        kf_auto(cJSON) json = parsed(texts[i]);
        assert_false(kf_json_verify(json, public_key, &error));
        assert_int_equal(error.code, KF_ERROR_INPUT);
    }
}

static void key_files_are_checked(void **state)
{
    (void)state;
    kf_auto(cJSON) json = parsed("{\"a\": 1}");
    static const struct {
        const char *text;
        mode_t mode;
        const char *says;
    } rows[] = {
        {"kforge-ed25519 9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60\n", 0640,
         "chmod 600"},
        {"kforge-ed25519 9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f6\n", 0600,
         "not a signing key"},
        {"kforge-ed25519 9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7fg0\n", 0600,
         "not a signing key"},
        {"-----BEGIN PRIVATE KEY-----\n", 0600, "not a signing key"},
        {"", 0600, "not a signing key"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_error error = {0};
        write_key(rows[i].text, rows[i].mode);
        assert_null(kf_json_signed(json, key_path, &error));
        assert_non_null(strstr(error.text, rows[i].says));
    }
    kf_error error = {0};
    assert_null(kf_json_signed(json, "/nowhere/key", &error));
    assert_null(kf_json_signed(json, "/dev/null", &error));
}

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(key_path, sizeof key_path, "%s/key", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return kf_directory_remove(folder, NULL) ? 0 : -1;
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_canonical),
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(keys_are_those_of_the_standard),
        cmocka_unit_test(a_made_key_signs),
        cmocka_unit_test(what_does_not_verify),
        cmocka_unit_test(key_files_are_checked),
    };
    return TEST_GROUP(tests, make_folder, remove_folder);
}
