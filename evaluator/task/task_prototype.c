/* The C signatures of candidate and oracle (docs/reference/task-format.md, "Signature"). */
#include "kforge/buffer.h"
#include "task_internal.h"

char *kf_task_prototype(const kf_task *task, bool oracle)
{
    kf_autobuffer buffer = {0};
    kf_buffer_format(&buffer, "extern \"C\" void %s%s(", task->entry, oracle ? "_oracle" : "");
    for (int i = 0; i < task->argument_count; i++) {
        const kf_task_argument *argument = &task->arguments[i];
        const char *type = kf_dtype_ctype(argument->dtype);
        switch (argument->kind) {
        case KF_INPUT: kf_buffer_format(&buffer, "const %s *%s", type, argument->name); break;
        case KF_OUTPUT:
        case KF_INOUT:
            kf_buffer_format(&buffer, "%s *%s",
                             oracle && kf_dtype_is_float(argument->dtype) ? "double" : type,
                             argument->name);
            break;
        case KF_SCALAR: kf_buffer_format(&buffer, "%s %s", type, argument->name); break;
        case KF_WORKSPACE:
            kf_buffer_format(&buffer, "%s *%s", argument->untyped ? "void" : type, argument->name);
            break;
        }
        kf_buffer_string(&buffer, ", ");
    }
    kf_buffer_string(&buffer, "cudaStream_t stream)");
    return kf_buffer_take(&buffer);
}
