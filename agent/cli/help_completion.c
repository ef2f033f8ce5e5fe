/* Completions of bash and zsh. Both are one function over tables, which are shell case statements:
 * the commands, the options of a command, the values of an option (choices, a path or unknown), and
 * the kind of its arguments (a task, a file, a folder, a run). */
#include <string.h>

#include "help.h"

/* Returns how a word of a synopsis, or the value of an option, is completed. */
static const char *value_kind(const char *words)
{
    if (!words) return "any";
    if (strstr(words, "RUN")) return "run";
    if (strstr(words, "TASK") && strstr(words, "FILE")) return "taskfile";
    if (strstr(words, "TASK")) return "task";
    if (strstr(words, "FILE")) return "file";
    if (strstr(words, "DIR")) return "directory";
    return "any";
}

static void list_options(FILE *out, const kf_command *command)
{
    for (const kf_option *option = command->options; option && option->name; option++)
        fprintf(out, "--%s ", option->name);
    fputs("--help", out);
}

/* Writes case "$command:$option" in … esac, which sets `kind` or `values`. */
static void list_values(FILE *out, const kf_command *const *commands)
{
    fputs("    case \"$command:$option\" in\n", out);
    for (; *commands; commands++) {
        for (const kf_option *option = (*commands)->options; option && option->name; option++) {
            if (option->type == KF_OPTION_FLAG) continue;
            fprintf(out, "    '%s:--%s'", (*commands)->name, option->name);
            if (option->letter) fprintf(out, "|'%s:-%c'", (*commands)->name, option->letter);
            if (option->type == KF_OPTION_CHOICE) {
                fputs(") kind=words values='", out);
                for (const char *c = option->choices; *c; c++) fputc(*c == '|' ? ' ' : *c, out);
                fputs("' ;;\n", out);
            } else {
                const char *kind = strcmp(option->name, "device") == 0 ? "words values='cpu cuda'"
                                   : option->type == KF_OPTION_PATH
                                       ? (strstr(option->argument, "DIR") ? "directory" : "file")
                                       : value_kind(option->argument);
                fprintf(out, ") kind=%s ;;\n", kind);
            }
        }
    }
    fputs("    esac\n", out);
}

static void list_commands(FILE *out, const kf_command *const *commands)
{
    fputs("    case \"$command\" in\n", out);
    for (; *commands; commands++) {
        fprintf(out, "    '%s') kind=%s options='", (*commands)->name,
                strcmp((*commands)->name, "help") == 0 ? "command"
                                                       : value_kind((*commands)->synopsis));
        list_options(out, *commands);
        fputs("' ;;\n", out);
    }
    fputs("    esac\n", out);
}

static void list_first_words(FILE *out, const kf_command *const *commands)
{
    const char *last = "";
    for (; *commands; commands++) {
        const char *name = (*commands)->name;
        size_t length = strcspn(name, " ");
        if (!(*commands)->hidden &&
            (strncmp(last, name, length) != 0 || strcspn(last, " ") != length))
            fprintf(out, "%.*s ", (int)length, name);
        if (!(*commands)->hidden) last = name;
    }
}

static bool is_command(const kf_command *const *commands, const char *word, size_t length)
{
    for (; *commands; commands++)
        if (strncmp((*commands)->name, word, length) == 0 && (*commands)->name[length] == '\0')
            return true;
    return false;
}

static void list_groups(FILE *out, const kf_command *const *commands)
{
    fputs("    case \"$command\" in\n", out);
    for (const kf_command *const *row = commands; *row; row++) {
        const char *name = (*row)->name, *space = strchr(name, ' ');
        if (!space ||
            (row > commands && strncmp(row[-1]->name, name, (size_t)(space - name) + 1) == 0))
            /* The commands of a group follow each other. */
            continue;
        size_t length = (size_t)(space - name);
        /* If the first word is also a command, only a member's name as the second word makes it a
         * group. */
        bool both = is_command(commands, name, length);
        fprintf(out, both ? "    '%.*s') case \" " : "    '%.*s') group='", (int)length, name);
        for (const kf_command *const *member = commands; *member; member++)
            if (strncmp((*member)->name, name, length + 1) == 0)
                fprintf(out, "%s ", (*member)->name + length + 1);
        if (both)
            fprintf(
                out,
                "\" in *\" $(_kforge_word 2) \"*) command=\"%.*s $(_kforge_word 2)\" ;; esac ;;\n",
                (int)length, name);
        else
            fputs("' ;;\n", out);
    }
    fputs("    esac\n", out);
}

/* Finds the command (one word or two), the kind of the word to complete, and its candidates. Both
 * shells understand it. _kforge_word N prints word number N (0: the program). cword is the number
 * of the word to complete. */
static void shared_functions(FILE *out, const kf_command *const *commands)
{
    fputs("# Sets kind and values for word number $cword.\n"
          "_kforge_analyse() {\n"
          "    local option='' options='' group='' command=''\n"
          "    kind='' values=''\n"
          "    if [ \"$cword\" -le 1 ]; then\n"
          "        kind=words values='",
          out);
    list_first_words(out, commands);
    fputs("--version --help'\n"
          "        return\n"
          "    fi\n"
          "    command=\"$(_kforge_word 1)\"\n",
          out);
    list_groups(out, commands);
    fputs("    if [ -n \"$group\" ]; then\n"
          "        if [ \"$cword\" -eq 2 ]; then kind=words values=\"$group--help\"; return; fi\n"
          "        command=\"$command $(_kforge_word 2)\"\n"
          "    fi\n"
          "    option=\"$(_kforge_word $((cword - 1)))\"\n",
          out);
    list_values(out, commands);
    fputs("    if [ -n \"$kind\" ]; then return; fi\n", out);
    list_commands(out, commands);
    fputs("    case \"$(_kforge_word \"$cword\")\" in -*) kind=words values=\"$options\" ;; esac\n"
          "}\n"
          "# Folders that hold a task.json: where the word typed so far leads, and under tasks/.\n"
          "_kforge_tasks() {\n"
          "    find \"${1%/*}/\" tasks . -maxdepth 2 -name task.json -path \"*${1#./}*\" "
          "2>/dev/null | sed 's,/task.json$,,; "
          "s,//,/,g; s,^\\./,,' | sort -u\n"
          "}\n"
          "_kforge_runs() { kforge list -q 2>/dev/null; }\n",
          out);
}

void kf_help_bash(FILE *out, const kf_command *const *commands)
{
    fputs("# bash completion for kforge, made by `kforge help --completion bash`\n"
          "_kforge_word() { printf '%s' \"${words[$1]}\"; }\n",
          out);
    shared_functions(out, commands);
    fputs("_kforge() {\n"
          "    local words=() cword=0 kind='' values='' current i\n"
          "    # bash splits --option=value at '='; here the value is a word of its own.\n"
          "    for ((i = 0; i < ${#COMP_WORDS[@]}; i++)); do\n"
          "        if [ \"${COMP_WORDS[i]}\" != '=' ]; then words+=(\"${COMP_WORDS[i]}\")\n"
          "        elif [ \"$i\" -eq \"$COMP_CWORD\" ]; then words+=('')\n"
          "        fi\n"
          "        if [ \"$i\" -eq \"$COMP_CWORD\" ]; then cword=$((${#words[@]} - 1)); fi\n"
          "    done\n"
          "    current=\"${words[cword]}\"\n"
          "    _kforge_analyse\n"
          "    COMPREPLY=()\n"
          "    case \"$kind\" in\n"
          "    words) COMPREPLY=($(compgen -W \"$values\" -- \"$current\")) ;;\n"
          "    command)\n"
          "        words=(kforge \"${words[@]:2}\") cword=$((cword - 1))\n"
          "        _kforge_analyse\n"
          "        [ \"$kind\" = words ] && COMPREPLY=($(compgen -W \"settings ${values%--version "
          "--help}\" -- \"$current\")) ;;\n"
          "    run) COMPREPLY=($(compgen -W \"latest $(_kforge_runs)\" -- \"$current\")) ;;\n"
          "    task*)\n"
          "        COMPREPLY=($(compgen -W \"$(_kforge_tasks \"$current\")\" -- \"$current\"))\n"
          "        if [ \"$kind\" = taskfile ] || [ ${#COMPREPLY[@]} -eq 0 ]; then "
          "COMPREPLY+=($(compgen -f -- \"$current\")); fi "
          ";;\n"
          "    file) COMPREPLY=($(compgen -f -- \"$current\")) ;;\n"
          "    directory) COMPREPLY=($(compgen -d -- \"$current\")) ;;\n"
          "    esac\n"
          "}\n"
          "complete -o filenames -F _kforge kforge\n",
          out);
}

void kf_help_zsh(FILE *out, const kf_command *const *commands)
{
    fputs("#compdef kforge\n"
          "# zsh completion for kforge, made by `kforge help --completion zsh`\n"
          "_kforge_word() { printf '%s' \"${line[$(($1 + 1))]}\"; }\n",
          out);
    shared_functions(out, commands);
    fputs("_kforge() {\n"
          "    local -a line=(\"${words[@]}\")\n"
          "    local cword=$((CURRENT - 1)) kind='' values=''\n"
          "    if [[ ${words[CURRENT]} == --*=* ]]; then\n"
          "        line=(\"${(@)words[1,CURRENT-1]}\" \"${words[CURRENT]%%=*}\" "
          "\"${words[CURRENT]#*=}\") cword=$CURRENT\n"
          "        compset -P '*='\n"
          "    fi\n"
          "    _kforge_analyse\n"
          "    case \"$kind\" in\n"
          "    words) compadd -- ${=values} ;;\n"
          "    command)\n"
          "        line=(kforge \"${(@)line[3,-1]}\") cword=$((cword - 1))\n"
          "        _kforge_analyse\n"
          "        [[ $kind == words ]] && compadd -- settings ${=values%--version --help} ;;\n"
          "    run) compadd -- latest $(_kforge_runs) ;;\n"
          "    task) compadd -- $(_kforge_tasks \"${line[cword + 1]}\") || _files ;;\n"
          "    taskfile) compadd -- $(_kforge_tasks \"${line[cword + 1]}\"); _files ;;\n"
          "    file) _files ;;\n"
          "    directory) _files -/ ;;\n"
          "    esac\n"
          "}\n"
          "if [[ ${funcstack[1]} == _kforge ]]; then _kforge \"$@\"; else compdef _kforge kforge; "
          "fi\n",
          out);
}
