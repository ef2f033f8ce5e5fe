#include "page_files.h"

#include <openssl/evp.h>
#include <string.h>

#include "kforge/hash.h"
#include "prompt_template.h"

const char *kf_page_file(const char *name)
{
    const kf_template_builtin *file = kf_page_files;
    while (file->name && strcmp(file->name, name) != 0) file++;
    return file->name ? file->text : "";
}

static void append_source(kf_buffer *out, const char *name, const char *text)
{
    kf_hash hash = kf_hash_bytes(text, strlen(text));
    char coded[4 * (KF_HASH_SIZE + 2) / 3 + 1];
    EVP_EncodeBlock((unsigned char *)coded, hash.bytes, sizeof hash.bytes);
    kf_buffer_format(out, "; %s 'sha256-%s'", name, coded);
}

bool kf_page_policy(const char *style, const char *script, bool live, kf_buffer *out)
{
    kf_buffer_string(out, "default-src 'none'");
    append_source(out, "style-src", style);
    append_source(out, "script-src", script);
    kf_buffer_string(out, "; img-src data:; base-uri 'none'; form-action 'none'");
    if (live) kf_buffer_string(out, "; connect-src 'self'");
    return !out->failed;
}
