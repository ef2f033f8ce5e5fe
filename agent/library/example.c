/* Judges one candidate with libkforge.
 *   cc example.c $(pkg-config --cflags --libs kforge) -o example
 *   ./example '{"device":"cpu"}' '{"task":"axpy","reply":"...","mode":"check"}'
 * Exit status: 0 with an answer, 1 with an error. */
#include <kforge.h>
#include <stdio.h>
#include <string.h>

int main(int count, char **words)
{
    if (count != 3) {
        fprintf(stderr, "usage: example OPTIONS REQUEST\n");
        return 2;
    }
    char *error = NULL;
    kforge *handle = kforge_open(words[1], &error);
    if (!handle) {
        fprintf(stderr, "%s\n", error ? error : "out of memory");
        kforge_free(error);
        return 1;
    }
    char *answer = kforge_judge(handle, words[2]);
    int failed = !answer || strncmp(answer, "{\"error\"", 8) == 0;
    puts(answer ? answer : "out of memory");
    kforge_free(answer);
    kforge_close(handle);
    return failed;
}
