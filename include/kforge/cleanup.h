/* The cleanup idiom of the tree. A variable frees its value at the end of its scope. `kf_steal`
 * passes the ownership on.
 *
 *     kf_autofree char *text = kf_file_read(path, limit, &size, error);
 *     if (!text) return false;
 *     ...
 *     return kf_steal(&text);
 *
 * A module defines the same for its own type with KF_DEFINE_AUTO(kf_task, kf_task_free). A variable
 * is then `kf_auto(kf_task) t = …`.
 */
#ifndef KFORGE_CLEANUP_H
#define KFORGE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void kf_cleanup_free(void *pointer_to_pointer)
{
    free(*(void **)pointer_to_pointer);
}
static inline void kf_cleanup_close(const int *fd)
{
    if (*fd >= 0) close(*fd);
}
/* Closes a descriptor and sets it to -1. */
static inline void kf_close(int *fd)
{
    kf_cleanup_close(fd);
    *fd = -1;
}
static inline void kf_cleanup_fclose(FILE **file)
{
    if (*file) fclose(*file);
}

#define kf_autofree __attribute__((cleanup(kf_cleanup_free)))
#define kf_autoclose __attribute__((cleanup(kf_cleanup_close)))
#define kf_autofclose __attribute__((cleanup(kf_cleanup_fclose)))

/* Defines the cleanup for `TYPE *` variables; FREE must accept NULL. */
#define KF_DEFINE_AUTO(TYPE, FREE)                       \
    static inline void kf_cleanup_##TYPE(TYPE **pointer) \
    {                                                    \
        FREE(*pointer);                                  \
    }
#define kf_auto(TYPE) __attribute__((cleanup(kf_cleanup_##TYPE))) TYPE *

/* Returns the value of a variable and sets the variable to NULL. */
#define kf_steal(pointer_to_variable)                                          \
    ({                                                                         \
        __typeof__(*(pointer_to_variable)) kf_stolen = *(pointer_to_variable); \
        *(pointer_to_variable) = NULL;                                         \
        kf_stolen;                                                             \
    })

#endif
