/* Completions of bash and zsh. Both are one function over tables that are written as shell case statements: which commands there are, which
 * options a command has, what the value of an option is (choices, a path, or nothing that could be known), and what its arguments are (a task, a
 * file, a folder, a run).
 */
#include <string.h>

#include "help.h"

/* What a word of a synopsis, or the name of an option's value, is completed as. */
static const char *value_kind(const char *words)
{
    if (!words) return "none";
    if (strstr(words, "RUN")) return "run";
    if (strstr(words, "TASK")) return "task";
    if (strstr(words, "FILE")) return "file";
    if (strstr(words, "DIR")) return "directory";
    return "none";
}

static void list_options(FILE *out, const kf_command *command)
{
    for (const kf_option *option = command->options; option && option->name; option++) fprintf(out, "--%s ", option->name);
    fputs("--help", out);
}

/* case "$command:$option" in … esac: sets `kind` or `values`. */
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
                                   : option->type == KF_OPTION_PATH    ? (strstr(option->argument, "DIR") ? "directory" : "file")
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
                strcmp((*commands)->name, "help") == 0 ? "command" : value_kind((*commands)->synopsis));
        list_options(out, *commands);
        fputs("' ;;\n", out);
    }
    fputs("    esac\n", out);
}

/* First words, each once; or the second words of groups as a case statement. */
static void list_first_words(FILE *out, const kf_command *const *commands)
{
    const char *last = "";
    for (; *commands; commands++) {
        const char *name = (*commands)->name;
        size_t length = strcspn(name, " ");
        if (!(*commands)->hidden && (strncmp(last, name, length) != 0 || strcspn(last, " ") != length))
            fprintf(out, "%.*s ", (int)length, name);
        if (!(*commands)->hidden) last = name;
    }
}

static void list_groups(FILE *out, const kf_command *const *commands)
{
    fputs("    case \"$command\" in\n", out);
    for (const kf_command *const *row = commands; *row; row++) {
        const char *name = (*row)->name, *space = strchr(name, ' ');
        if (!space || (row > commands && strncmp(row[-1]->name, name, (size_t)(space - name) + 1) == 0))
            continue; /* groups stand together */
        size_t length = (size_t)(space - name);
        fprintf(out, "    '%.*s') group='", (int)length, name);
        for (const kf_command *const *member = commands; *member; member++)
            if (strncmp((*member)->name, name, length + 1) == 0) fprintf(out, "%s ", (*member)->name + length + 1);
        fputs("' ;;\n", out);
    }
    fputs("    esac\n", out);
}

/* Finds the command (one word or two), the kind of what is to be completed, and its candidate words. Plain enough for both shells: arrays `words`
 * (from 0: the program) and `cword` are the line and the word being completed. */
static void shared_function(FILE *out, const kf_command *const *commands)
{
    fputs("# Sets kind and values for the word number $cword of the array words.\n"
          "_kforge_analyse() {\n"
          "    local option='' options='' group='' first=1 i\n"
          "    kind=none values=''\n"
          "    if [ \"$cword\" -le 1 ]; then\n"
          "        kind=words values='",
          out);
    list_first_words(out, commands);
    fputs("--version --help'\n        return\n    fi\n"
          "    local command=\"$(_kforge_word 1)\"\n",
          out);
    list_groups(out, commands);
    fputs("    if [ -n \"$group\" ]; then\n"
          "        if [ \"$cword\" -eq 2 ]; then kind=words values=\"$group --help\"; return; fi\n"
          "        command=\"$command $(_kforge_word 2)\" first=2\n"
          "    fi\n"
          "    option=\"$(_kforge_word $((cword - 1)))\"\n",
          out);
    list_values(out, commands);
    fputs("    [ \"$kind\" != none ] && return\n"
          "    case \"$option\" in -*)\n"
          "        # The value of an option that takes anything.\n"
          "        case \" $(_kforge_free \"$command\") \" in *\" $option \"*) return ;; esac ;;\n"
          "    esac\n",
          out);
    list_commands(out, commands);
    fputs("    case \"$(_kforge_word \"$cword\")\" in -*) kind=words values=\"$options\" ;; esac\n}\n", out);
    fputs("# Options whose value can't be guessed.\n_kforge_free() {\n    case \"$1\" in\n", out);
    for (; *commands; commands++) {
        fprintf(out, "    '%s') echo '", (*commands)->name);
        for (const kf_option *option = (*commands)->options; option && option->name; option++) {
            if (option->type == KF_OPTION_FLAG) continue;
            fprintf(out, "--%s ", option->name);
            if (option->letter) fprintf(out, "-%c ", option->letter);
        }
        fputs("' ;;\n", out);
    }
    fputs("    esac\n}\n", out);
    fputs("# Folders that hold a task.json, under the word typed so far and under tasks/.\n"
          "_kforge_tasks() {\n"
          "    local file\n"
          "    for file in \"$1\"*/task.json tasks/\"$1\"*/task.json; do\n"
          "        [ -f \"$file\" ] && echo \"${file%/task.json}\"\n"
          "    done 2>/dev/null\n"
          "}\n"
          "_kforge_runs() { kforge list --ids 2>/dev/null; }\n",
          out);
}

void kf_help_bash(FILE *out, const kf_command *const *commands)
{
    fputs("# bash completion for kforge, made by `kforge help --completion bash`\n"
          "_kforge_word() { printf '%s' \"${words[$1]}\"; }\n",
          out);
    shared_function(out, commands);
    fputs("_kforge() {\n"
          "    local words=(\"${COMP_WORDS[@]}\") cword=$COMP_CWORD kind values current\n"
          "    # bash splits at '='; \"--device = c\" is put back into \"--device c\".\n"
          "    if [ \"$cword\" -ge 2 ] && [ \"${words[cword]}\" = '=' ]; then words[cword]=''; words=(\"${words[@]}\")\n"
          "        words[cword]=''; current=''; local i; for ((i = cword; i > 1; i--)); do :; done\n"
          "    elif [ \"$cword\" -ge 3 ] && [ \"${words[cword - 1]}\" = '=' ]; then\n"
          "        words=(\"${words[@]:0:cword-1}\" \"${words[cword]}\"); cword=$((cword - 1))\n"
          "    fi\n"
          "    current=\"${words[cword]}\"\n"
          "    _kforge_analyse\n"
          "    COMPREPLY=()\n"
          "    case \"$kind\" in\n"
          "    words) COMPREPLY=($(compgen -W \"$values\" -- \"$current\")) ;;\n"
          "    command) words=(kforge \"$current\"); cword=1; _kforge_analyse\n"
          "        COMPREPLY=($(compgen -W \"settings ${values% --version --help}\" -- \"$current\")) ;;\n"
          "    run) COMPREPLY=($(compgen -W \"latest $(_kforge_runs)\" -- \"$current\")) ;;\n"
          "    task) COMPREPLY=($(compgen -W \"$(_kforge_tasks \"$current\")\")); [ ${#COMPREPLY[@]} -gt 0 ] || "
          "COMPREPLY=($(compgen -f -- \"$current\")) ;;\n"
          "    file) COMPREPLY=($(compgen -f -- \"$current\")) ;;\n"
          "    directory) COMPREPLY=($(compgen -d -- \"$current\")) ;;\n"
          "    esac\n"
          "}\n"
          "complete -F _kforge kforge\n",
          out);
}

void kf_help_zsh(FILE *out, const kf_command *const *commands)
{
    fputs("#compdef kforge\n# zsh completion for kforge, made by `kforge help --completion zsh`\n"
          "_kforge_word() { printf '%s' \"${line[$(($1 + 1))]}\"; }\n",
          out);
    shared_function(out, commands);
    fputs("_kforge() {\n"
          "    local -a line=(\"${words[@]}\")\n"
          "    local cword=$((CURRENT - 1)) kind values\n"
          "    _kforge_analyse\n"
          "    case \"$kind\" in\n"
          "    words) compadd -- ${=values} ;;\n"
          "    command) line=(kforge ''); cword=1; _kforge_analyse; compadd -- settings ${=${values% --version --help}} ;;\n"
          "    run) compadd -- latest $(_kforge_runs) ;;\n"
          "    task) compadd -U -- $(_kforge_tasks \"${words[CURRENT]}\") || _files ;;\n"
          "    file) _files ;;\n"
          "    directory) _files -/ ;;\n"
          "    esac\n"
          "}\n"
          "if [ \"$funcstack[1]\" = _kforge ]; then _kforge \"$@\"; else compdef _kforge kforge; fi\n",
          out);
}
