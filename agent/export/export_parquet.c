/* The child reads lines: ">" and a path in hexadecimal opens a file, "<" ends it, and all other
 * lines are rows. It answers with lines: "ready" once it has pyarrow, "done" for each finished
 * file, or an error before it exits. The parent reads an answer only when it expects one, or when
 * the child has closed its end. Answers are short, so neither side blocks the other. If the parent
 * dies in the middle of a file, the child removes the file. */
#include "export_parquet.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "kforge/buffer.h"
#include "python_installation.h"

struct kf_parquet {
    pid_t child; /* 0: ended and reaped */
    int input, answers;
    const char *shown;
    kf_python_program python;
};

/* Types are fixed, so that no value changes the type of another. Batches of 32 MiB bound the
 * child's memory. */
static const char script[] =
    "import sys\n"
    /* no module of the current folder */
    "sys.path[:] = [path for path in sys.path if path[:1] == '/']\n"
    "import os, io, json\n"
    "def say(text):\n"
    "    os.write(1, (' '.join(text.split())[:600] + '\\n').encode(errors='replace'))\n"
    "path = None\n"
    "try:\n"
    "    import pyarrow as pa, pyarrow.parquet as pq, pyarrow.json as pj\n"
    "    def kind(layout):\n"
    "        if isinstance(layout, list): return pa.list_(kind(layout[0]))\n"
    "        if isinstance(layout, dict): return pa.struct([(n, kind(l)) for n, l in "
    "layout.items()])\n"
    "        return getattr(pa, layout + '_' * (layout == 'bool'))()\n"
    "    schema = pa.schema([(n, kind(l)) for n, l in json.loads(sys.argv[1]).items()])\n"
    "    parsing = pj.ParseOptions(explicit_schema=schema, newlines_in_values=False, "
    "unexpected_field_behavior='error')\n"
    "    rows, size = [], 0\n"
    "    def flush():\n"
    "        global rows, size\n"
    "        if not rows: return\n"
    "        block = b''.join(rows)\n"
    "        table = pj.read_json(io.BytesIO(block), pj.ReadOptions(block_size=len(block) + 1, "
    "use_threads=False), parsing)\n"
    "        out.write_table(table.select(schema.names).cast(schema))\n"
    "        rows, size = [], 0\n"
    "    say('ready')\n"
    "    for line in sys.stdin.buffer:\n"
    "        if line[:1] == b'>':\n"
    "            path = bytes.fromhex(line[1:].decode())\n"
    "            file = open(path, 'wb')\n"
    "            out = pq.ParquetWriter(file, schema, compression='zstd')\n"
    "        elif line[:1] == b'<':\n"
    "            flush(); out.close(); file.close()\n"
    "            path = None\n"
    "            say('done')\n"
    "        else:\n"
    "            rows.append(line); size += len(line)\n"
    "            if size > 1 << 25 or len(rows) >= 10000: flush()\n"
    "    if path: os.unlink(path)\n"
    "except ImportError as e: say('missing ' + str(e))\n"
    "except MemoryError as e: say('memory ' + str(e))\n"
    "except OSError as e: say('full' if e.errno in (27, 28, 122) else 'failed ' + str(e))\n"
    "except BaseException as e: say('failed ' + type(e).__name__ + ': ' + str(e))\n"
    /* a failed writer would write a footer at exit, and fail again */
    "os._exit(0)\n";

/* Returns the layouts of the fields as a JSON object. Their names need no escapes. */
static char *schema_of(const kf_export_field *fields)
{
    kf_autobuffer text = {0};
    for (; fields->name; fields++)
        kf_buffer_format(&text, "%s\"%s\": %s", text.size ? ", " : "{", fields->name,
                         kf_export_type_layout(fields->type));
    kf_buffer_string(&text, text.size ? "}" : "{}");
    return kf_buffer_take(&text);
}

/* ---- the child ------------------------------------------------------------------------------- */

static _Noreturn void run_child(const char *python, const char *schema, int input, int answers)
{
    int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(input, 0);
    dup2(answers, 1);
    /* it answers on its output; warnings of libraries are dropped */
    dup2(nothing, 2);
    /* the parent reports interrupts */
    signal(SIGINT, SIG_IGN);
    signal(SIGPIPE, SIG_DFL);
    execlp(python, python, "-c", script, schema, (char *)NULL);
    _exit(127);
}

static bool start(kf_parquet *p, const char *schema)
{
    int input[2] = {-1, -1}, answers[2] = {-1, -1};
    bool pipes = pipe2(input, O_CLOEXEC) == 0 && pipe2(answers, O_CLOEXEC) == 0;
    pid_t child = pipes ? fork() : -1;
    if (child == 0) run_child(p->python.path, schema, input[0], answers[1]);
    if (input[0] >= 0) close(input[0]);
    if (answers[1] >= 0) close(answers[1]);
    p->input = input[1];
    p->answers = answers[0];
    p->child = child > 0 ? child : 0;
    return child > 0;
}

/* Waits for the child. Returns its wait status, or -1 if unknown. */
static int reap(kf_parquet *p)
{
    int status = -1;
    if (p->input >= 0) close(p->input);
    p->input = -1;
    while (p->child && waitpid(p->child, &status, 0) < 0)
        if (errno != EINTR) break;
    p->child = 0;
    return status;
}

/* Reads one line of the child without its end. False at the end of the output. */
static bool read_answer(kf_parquet *p, char *line, size_t size)
{
    size_t length = 0;
    for (;;) {
        char c;
        ssize_t got = read(p->answers, &c, 1);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0 || c == '\n') return line[length] = '\0', got > 0;
        if (length + 1 < size) line[length++] = c;
    }
}

/* ---- what went wrong ------------------------------------------------------------------------- */

static bool says(const char *answer, const char *word, const char **rest)
{
    size_t length = strlen(word);
    *rest = answer + length + (answer[length] == ' ');
    return strncmp(answer, word, length) == 0;
}

/* Reports the end of the child. `answer` is its last line, or "". */
static bool explain(kf_parquet *p, const char *answer, kf_error *error)
{
    const char *rest;
    int status = reap(p);
    if (says(answer, "full", &rest))
        return kf_fail(error, KF_ERROR_IO,
                       "%s: the disk is full and the partial file was removed; free some space",
                       p->shown);
    if (says(answer, "memory", &rest))
        return kf_fail(error, KF_ERROR_MEMORY, "%s: %s, which writes Parquet, is out of memory",
                       p->shown, p->python.path);
    if (says(answer, "failed", &rest))
        return kf_fail(error, KF_ERROR_IO, "%s: writing Parquet: %s", p->shown, rest);
    if (status != -1 && WIFSIGNALED(status))
        return kf_fail(error, KF_ERROR_MACHINE,
                       "%s: %s, which writes Parquet, was killed by signal %d (%s), perhaps for "
                       "lack of memory; .jsonl.zst needs less",
                       p->shown, p->python.path, WTERMSIG(status), strsignal(WTERMSIG(status)));
    return kf_fail(error, KF_ERROR_MACHINE, "%s: %s, which writes Parquet, ended too early",
                   p->shown, p->python.path);
}

/* Adds why a Python can't write. Returns false. */
static bool refuse(const kf_parquet *p, const char *answer, kf_buffer *unused)
{
    const char *why;
    bool said = says(answer, "missing", &why) && *why;
    kf_buffer_format(unused, "%s%s of %s %s%s%s%s", unused->size ? ", and " : "", p->python.path,
                     p->python.from, said ? "lacks it" : "does not run", said ? " (" : "",
                     said ? why : "", said ? ")" : "");
    return false;
}

/* ---- the module ------------------------------------------------------------------------------ */

/* Starts p->python. False if it has no pyarrow, and with *error if no process starts. */
static bool try_python(kf_parquet *p, const char *schema, kf_buffer *unused, kf_error *error)
{
    char answer[700];
    if (!start(p, schema))
        return kf_fail(error, KF_ERROR_MACHINE, "starting %s for Parquet: %s", p->python.path,
                       strerror(errno));
    if (read_answer(p, answer, sizeof answer) && strcmp(answer, "ready") == 0) return true;
    reap(p);
    close(p->answers);
    p->answers = -1;
    return refuse(p, answer, unused);
}

kf_parquet *kf_parquet_open(const kf_export_field *fields, kf_error *error)
{
    kf_auto(kf_parquet) p = calloc(1, sizeof *p);
    kf_autofree char *schema = schema_of(fields);
    kf_python_program pythons[KF_PYTHON_PROGRAMS];
    size_t count = kf_python_programs(pythons);
    kf_autobuffer unused = {0};
    kf_error failed = {0};
    if (p) p->input = p->answers = -1;
    if (!p || !schema) return kf_fail_memory(error, "the Parquet file"), NULL;
    for (size_t i = 0; i < count && !failed.code; i++) {
        p->python = pythons[i];
        if (try_python(p, schema, &unused, &failed)) return kf_steal(&p);
    }
    if (failed.code)
        kf_fail_copy(error, &failed);
    else
        kf_fail(error, KF_ERROR_MACHINE,
                "Parquet needs pyarrow, and %s: run \"%s -m pip install pyarrow\", set "
                "KFORGE_PYTHON to a Python that has it, or write .jsonl.zst",
                unused.data ? unused.data : "there is no python3 in PATH or /usr/bin",
                count ? pythons[0].path : "python3");
    return NULL;
}

void kf_parquet_close(kf_parquet *p)
{
    if (!p) return;
    if (p->child) kill(p->child, SIGKILL);
    reap(p);
    if (p->answers >= 0) close(p->answers);
    free(p);
}

static bool deliver(kf_parquet *p, const char *data, size_t size, kf_error *error)
{
    char answer[700];
    while (size && p->input >= 0) {
        ssize_t sent = write(p->input, data, size);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) break;
        data += sent;
        size -= (size_t)sent;
    }
    if (!size) return true;
    /* the child no longer reads: get its last line */
    read_answer(p, answer, sizeof answer);
    return explain(p, answer, error);
}

bool kf_parquet_begin(kf_parquet *p, const char *path, const char *shown, kf_error *error)
{
    kf_autobuffer line = {0};
    p->shown = shown;
    kf_buffer_string(&line, ">");
    for (const char *c = path; *c; c++) kf_buffer_format(&line, "%02x", (unsigned char)*c);
    kf_buffer_string(&line, "\n");
    if (line.failed) return kf_fail_memory(error, "the Parquet file");
    return deliver(p, line.data, line.size, error);
}

bool kf_parquet_rows(kf_parquet *p, const char *rows, size_t size, kf_error *error)
{
    return deliver(p, rows, size, error);
}

bool kf_parquet_end(kf_parquet *p, kf_error *error)
{
    char answer[700];
    if (!deliver(p, "<\n", 2, error)) return false;
    return (read_answer(p, answer, sizeof answer) && strcmp(answer, "done") == 0) ||
           explain(p, answer, error);
}
