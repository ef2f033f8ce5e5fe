/* Checks the GPU in a child process. The child writes a line of JSON for each fact as soon as it is
 * known, and one at the end. If the driver does not answer, the thread that notices it
 * (kforge/gpu.h) writes that as a fact and ends the process. Earlier lines are not lost. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "doctor.h"
#include "kforge/cleanup.h"
#include "kforge/file.h"
#include "kforge/gpu.h"

static int output = -1; /* the child's */

static void send_line(cJSON *line)
{
    kf_autofree char *text = line ? cJSON_PrintUnformatted(line) : NULL;
    kf_autobuffer whole = {0};
    kf_buffer_format(&whole, "%s\n", text ? text : "{}");
    /* the parent has ended */
    if (whole.data && !kf_write_all(output, whole.data, whole.size)) _exit(1);
}

static void tell_silence(const char *text)
{
    kf_doctor own = {.facts = cJSON_CreateArray()};
    const char *todo = strstr(text, "; ");
    kf_doctor_add(&own, "gpu", KF_FACT_FAULT, todo ? todo + 2 : "", "%.*s",
                  (int)(todo ? (size_t)(todo - text) : strlen(text)), text);
    send_line(cJSON_GetArrayItem(own.facts, 0));
    /* the driver may keep the process from ending */
    close(output);
    _exit(1);
}

/* Runs the checks in the child and ends it. */
static void look_here(bool (*look)(kf_doctor *doctor, cJSON *judges), pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    kf_gpu_on_silence(tell_silence);
    kf_doctor doctor = {.facts = cJSON_CreateArray(), .on_fact = send_line};
    cJSON *end = cJSON_CreateObject(), *judges = cJSON_AddArrayToObject(end, "judges");
    bool judging = look(&doctor, judges);
    cJSON_AddBoolToObject(end, "judging", judging);
    send_line(end);
    _exit(0);
}

static bool take_line(kf_doctor *doctor, cJSON *judges, cJSON *line)
{
    cJSON *list = cJSON_GetObjectItem(line, "judges");
    bool judging = cJSON_IsTrue(cJSON_GetObjectItem(line, "judging"));
    if (cJSON_GetObjectItem(line, "subject")) {
        cJSON_AddItemToArray(doctor->facts, line);
        return false;
    }
    while (cJSON_GetArraySize(list))
        cJSON_AddItemToArray(judges, cJSON_DetachItemFromArray(list, 0));
    cJSON_Delete(line);
    return judging;
}

static bool failed(kf_doctor *doctor, const char *what)
{
    kf_doctor_add(doctor, "gpu", KF_FACT_FAULT, "", "the process that checks the GPU %s", what);
    return false;
}

bool kf_doctor_gpu_child(kf_doctor *doctor, bool (*look)(kf_doctor *doctor, cJSON *judges),
                         cJSON *judges)
{
    int ends[2], status = 0;
    if (pipe2(ends, O_CLOEXEC) < 0) return failed(doctor, strerror(errno));
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        output = ends[1];
        close(ends[0]);
        look_here(look, parent);
    }
    close(ends[1]);
    kf_autoclose int input = ends[0];
    if (pid < 0) return failed(doctor, "can't be started");
    kf_autobuffer text = {0};
    char data[4096];
    for (ssize_t got; (got = read(input, data, sizeof data)) != 0;) {
        if (got < 0 && errno != EINTR) break;
        if (got > 0) kf_buffer_append(&text, data, (size_t)got);
    }
    bool judging = false;
    for (char *rest = text.data, *word; rest && (word = strsep(&rest, "\n"));) {
        cJSON *line = *word ? cJSON_Parse(word) : NULL;
        if (line) judging |= take_line(doctor, judges, line);
    }
    /* All lines are read. Do not wait for a child that the driver blocks. */
    if (waitpid(pid, &status, WNOHANG) == 0) {
        kill(pid, SIGKILL);
        usleep(20000);
        waitpid(pid, &status, WNOHANG);
    } else if (WIFSIGNALED(status)) {
        failed(doctor, "crashed in the driver");
    }
    return judging;
}
