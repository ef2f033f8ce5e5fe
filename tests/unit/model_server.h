/* Starts tests/llm/server.py and asks it what requests came. */
#ifndef KFORGE_TEST_MODEL_SERVER_H
#define KFORGE_TEST_MODEL_SERVER_H

#include <cjson/cJSON.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "http.h"
#include "kforge/buffer.h"

typedef struct model_server {
    pid_t pid;
    int in; /* closing it ends the server */
    int port;
} model_server;

static model_server model_server_start(void)
{
    int in[2], out[2];
    char line[32] = "";
    if (pipe(in) != 0 || pipe(out) != 0) abort();
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(in[0], 0);
        dup2(out[1], 1);
        close(in[1]);
        execlp("python3", "python3", KFORGE_SOURCE_DIR "/tests/llm/server.py", "600", (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    for (size_t size = 0; size + 1 < sizeof line && !strchr(line, '\n');) {
        ssize_t got = read(out[0], line + size, sizeof line - 1 - size);
        if (got <= 0) break;
        size += (size_t)got;
        line[size] = '\0';
    }
    close(out[0]);
    if (!atoi(line)) {
        fprintf(stderr, "tests/llm/server.py does not start\n");
        exit(1);
    }
    return (model_server){.pid = pid, .in = in[1], .port = atoi(line)};
}

static void model_server_stop(model_server *server)
{
    close(server->in);
    waitpid(server->pid, NULL, 0);
}

__attribute__((unused)) static bool model_server_data(void *context, const char *data, size_t size)
{
    kf_buffer_append(context, data, size);
    return true;
}

static bool model_server_done;

__attribute__((unused)) static void model_server_end(void *context, const kf_http_result *result)
{
    (void)context;
    if (result->fault) fprintf(stderr, "%s\n", result->error.text);
    model_server_done = true;
}

/* Returns the requests of a scenario. Free them with cJSON_Delete. */
__attribute__((unused)) static cJSON *model_server_log(const model_server *server,
                                                       const char *scenario)
{
    char url[200];
    kf_error error = {0};
    kf_autobuffer body = {0};
    kf_auto(kf_http) http = kf_http_new(&error);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/log/%s", server->port, scenario);
    model_server_done = false;
    if (!http || !kf_http_start(http,
                                &(kf_http_request){.url = url,
                                                   .context = &body,
                                                   .data = model_server_data,
                                                   .done = model_server_end},
                                &error)) {
        fprintf(stderr, "%s\n", error.text);
        abort();
    }
    while (!model_server_done) kf_http_step(http, 1);
    return cJSON_Parse(body.data ? body.data : "[]");
}

#endif
