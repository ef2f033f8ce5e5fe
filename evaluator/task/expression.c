/* Expressions: parses text into an array of nodes, and evaluates the array.
 *
 * A precedence-climbing parser (Pratt 1973) writes nodes into one array, children before parents,
 * the root last. The array, the text and the names share one allocation. Every node consumes at
 * least one byte of text, so the length of the text bounds the number of nodes. Every name is
 * followed by a byte that is not part of a name, so the length also bounds the bytes of the names
 * with their NULs.
 *
 * The parser limits the depth of brackets, prefix operators and `?:`. Chains of binary operators do
 * not count: their tree leans left, and is at most as deep as the text is long
 * (KF_EXPRESSION_BYTES).
 */
#include "kforge/expression.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/json.h"
#include "nearest.h"

typedef enum kf_operation {
    NUMBER,
    NAME,
    NEGATE,
    NOT,
    CONDITIONAL,
    OR,
    AND,
    EQUAL,
    UNEQUAL,
    LESS,
    LESS_EQUAL,
    GREATER,
    GREATER_EQUAL,
    ADD,
    SUBTRACT,
    MULTIPLY,
    DIVIDE,
    REMAINDER,
    MIN,
    MAX,
    CEIL_DIV,
    LOG2,
    ABS,
} kf_operation;

typedef struct kf_node {
    kf_operation operation;
    /* of the operator or word, from 1 */
    int column;
    /* indices of operands */
    int child[3];
    /* for NAME */
    const char *name;
    /* for NUMBER */
    kf_value constant;
} kf_node;

struct kf_expression {
    char *text, *names;
    int count;
    kf_node nodes[];
};

static const struct {
    const char *text;
    int precedence;
    kf_operation operation;
} binary_operators[] = {
    /* longer operators before their prefixes */
    {"||", 1, OR},         {"&&", 2, AND},           {"==", 3, EQUAL},   {"!=", 3, UNEQUAL},
    {"<=", 4, LESS_EQUAL}, {">=", 4, GREATER_EQUAL}, {"<", 4, LESS},     {">", 4, GREATER},
    {"+", 5, ADD},         {"-", 5, SUBTRACT},       {"*", 6, MULTIPLY}, {"/", 6, DIVIDE},
    {"%", 6, REMAINDER},
};

static const struct {
    const char *name;
    int operands;
    kf_operation operation;
} functions[] = {{"min", 2, MIN},
                 {"max", 2, MAX},
                 {"ceil_div", 2, CEIL_DIV},
                 {"log2", 1, LOG2},
                 {"abs", 1, ABS}};
#define FUNCTION_COUNT (sizeof functions / sizeof *functions)

/* Returns the name of a binary operator or a function. */
static const char *operation_name(kf_operation operation)
{
    for (size_t i = 0; i < sizeof binary_operators / sizeof *binary_operators; i++)
        if (binary_operators[i].operation == operation) return binary_operators[i].text;
    for (size_t i = 0; i < FUNCTION_COUNT; i++)
        if (functions[i].operation == operation) return functions[i].name;
    return "";
}

/* ---- parsing --------------------------------------------------------------------------------- */

typedef struct kf_parser {
    kf_expression *expression;
    /* at: next unread byte */
    const char *text, *at;
    char *names_end;
    int depth;
    kf_error *error;
} kf_parser;

/* Returns the text for messages, shortened and printable, because it may come from a candidate. */
static const char *excerpt(const char *text, char out[204])
{
    size_t length = 0;
    for (; text[length] && length < 200; length++)
        out[length] = (unsigned char)text[length] < 0x7f ? text[length] : '?';
    memcpy(out + length, text[length] ? "..." : "", text[length] ? 4 : 1);
    return out;
}

static void skip_space(kf_parser *parser)
{
    while (*parser->at == ' ' || *parser->at == '\t' || *parser->at == '\n' || *parser->at == '\r')
        parser->at++;
}

static int column_of(const kf_parser *parser, const char *place)
{
    return (int)(place - parser->text) + 1;
}

/* Fails. Returns -1, which is not the index of a node. */
static int complain(kf_parser *parser, const char *place, const char *expected)
{
    char found[32];
    size_t length =
        isalnum((unsigned char)*place) || *place == '_'
            ? strspn(place, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
            : 1;
    if (!*place)
        snprintf(found, sizeof found, "the end");
    else if ((unsigned char)*place < 0x80)
        snprintf(found, sizeof found, "'%.*s'", (int)(length < 24 ? length : 24), place);
    else
        snprintf(found, sizeof found, "a byte 0x%02x", (unsigned char)*place);
    kf_fail(parser->error, KF_ERROR_INPUT, "expression \"%s\", column %d: expected %s, found %s",
            excerpt(parser->text, (char[204]){0}), column_of(parser, place), expected, found);
    return -1;
}

static int add_node(kf_parser *parser, kf_node node)
{
    parser->expression->nodes[parser->expression->count] = node;
    return parser->expression->count++;
}

static bool descend(kf_parser *parser)
{
    if (++parser->depth <= KF_EXPRESSION_DEPTH) return true;
    return kf_fail(parser->error, KF_ERROR_LIMIT,
                   "expression, column %d: nested deeper than %d levels",
                   column_of(parser, parser->at), KF_EXPRESSION_DEPTH);
}

static int parse_ternary(kf_parser *parser);

static bool expect(kf_parser *parser, char c, const char *what)
{
    skip_space(parser);
    if (*parser->at != c) return complain(parser, parser->at, what) >= 0;
    parser->at++;
    return true;
}

static int parse_number(kf_parser *parser)
{
    const char *start = parser->at, *end = start + strspn(start, "0123456789");
    bool is_integer = *end != '.' && *end != 'e' && *end != 'E';
    if (*end == '.') end += 1 + strspn(end + 1, "0123456789");
    if (*end == 'e' || *end == 'E') {
        end++;
        if (*end == '+' || *end == '-') end++;
        if (!isdigit((unsigned char)*end))
            return complain(parser, end, "the digits of an exponent");
        end += strspn(end, "0123456789");
    }
    if (isalpha((unsigned char)*end) || *end == '_' || *end == '.')
        return complain(parser, end, "an operator behind the number");

    char digits[KF_EXPRESSION_BYTES + 1];
    size_t length = (size_t)(end - start);
    memcpy(digits, start, length);
    digits[length] = '\0';
    kf_node node = {.operation = NUMBER,
                    .column = column_of(parser, start),
                    .constant = {.is_integer = is_integer}};
    if (is_integer) {
        errno = 0;
        node.constant.integer = strtoll(digits, NULL, 10);
        node.constant.number = (double)node.constant.integer;
        if (errno) return complain(parser, start, "an integer below 2^63");
    } else {
        char *point = strchr(digits, '.');
        /* strtod depends on the locale, expressions do not */
        if (point) *point = localeconv()->decimal_point[0];
        node.constant.number = strtod(digits, NULL);
        if (!isfinite(node.constant.number))
            return complain(parser, start, "a number that a double can hold");
    }
    parser->at = end;
    return add_node(parser, node);
}

static int parse_call(kf_parser *parser, size_t function, int column)
{
    kf_node node = {.operation = functions[function].operation, .column = column};
    if (!expect(parser, '(', "'(' behind the function's name")) return -1;
    for (int i = 0; i < functions[function].operands; i++) {
        if (i &&
            !expect(parser, ',',
                    functions[function].operands == 2 ? "',' between the two operands" : "','"))
            return -1;
        if ((node.child[i] = parse_ternary(parser)) < 0) return -1;
    }
    return expect(parser, ')', "')' behind the function's operands") ? add_node(parser, node) : -1;
}

static int parse_word(kf_parser *parser)
{
    const char *start = parser->at;
    while (isalnum((unsigned char)*parser->at) || *parser->at == '_') parser->at++;
    size_t length = (size_t)(parser->at - start);
    for (size_t i = 0; i < FUNCTION_COUNT; i++)
        if (strlen(functions[i].name) == length && memcmp(functions[i].name, start, length) == 0)
            return parse_call(parser, i, column_of(parser, start));

    char *name = parser->names_end;
    memcpy(name, start, length);
    name[length] = '\0';
    parser->names_end += length + 1;
    skip_space(parser);
    if (*parser->at == '(') {
        const char *known[FUNCTION_COUNT];
        for (size_t i = 0; i < FUNCTION_COUNT; i++) known[i] = functions[i].name;
        const char *near = kf_nearest(name, known, FUNCTION_COUNT);
        kf_fail(parser->error, KF_ERROR_INPUT,
                "expression \"%s\", column %d: there is no function %s; %s%s",
                excerpt(parser->text, (char[204]){0}), column_of(parser, start), name,
                near ? "did you mean " : "there are min, max, ceil_div, log2, abs",
                near ? near : "");
        return -1;
    }
    return add_node(parser,
                    (kf_node){.operation = NAME, .column = column_of(parser, start), .name = name});
}

/* Parses a value with its prefix operators. */
static int parse_unary(kf_parser *parser)
{
    skip_space(parser);
    const char *start = parser->at;
    unsigned char c = (unsigned char)*start;
    if (isdigit(c) || (c == '.' && isdigit((unsigned char)start[1]))) return parse_number(parser);
    if (isalpha(c) || c == '_') return parse_word(parser);
    if (c != '(' && c != '-' && c != '+' && c != '!')
        return complain(parser, start, "a number, a name or '('");
    parser->at++;
    if (c == '(') {
        int inner = parse_ternary(parser);
        return inner >= 0 && expect(parser, ')', "')' or an operator") ? inner : -1;
    }
    if (!descend(parser)) return -1;
    int operand = parse_unary(parser);
    parser->depth--;
    if (operand < 0) return -1;
    if (c == '+') return operand;
    return add_node(parser, (kf_node){.operation = c == '-' ? NEGATE : NOT,
                                      .column = column_of(parser, start),
                                      .child = {operand}});
}

/* Returns the index into binary_operators of the next operator, -1 if there is no operator. */
static int peek_binary(kf_parser *parser)
{
    skip_space(parser);
    for (size_t i = 0; i < sizeof binary_operators / sizeof *binary_operators; i++)
        if (strncmp(parser->at, binary_operators[i].text, strlen(binary_operators[i].text)) == 0)
            return (int)i;
    return -1;
}

/* Parses operators of at least precedence `least`. All associate to the left. */
static int parse_binary(kf_parser *parser, int least)
{
    int left = parse_unary(parser);
    while (left >= 0) {
        int which = peek_binary(parser);
        if (which < 0 || binary_operators[which].precedence < least) break;
        int column = column_of(parser, parser->at);
        parser->at += strlen(binary_operators[which].text);
        int right = parse_binary(parser, binary_operators[which].precedence + 1);
        if (right < 0) return -1;
        left = add_node(parser, (kf_node){.operation = binary_operators[which].operation,
                                          .column = column,
                                          .child = {left, right}});
    }
    return left;
}

static int parse_ternary(kf_parser *parser)
{
    if (!descend(parser)) return -1;
    int condition = parse_binary(parser, 1);
    skip_space(parser);
    if (condition >= 0 && *parser->at == '?') {
        kf_node node = {.operation = CONDITIONAL,
                        .column = column_of(parser, parser->at),
                        .child = {condition}};
        parser->at++;
        if ((node.child[1] = parse_ternary(parser)) < 0 ||
            !expect(parser, ':', "':' of the condition") ||
            (node.child[2] = parse_ternary(parser)) < 0)
            return -1;
        condition = add_node(parser, node);
    }
    parser->depth--;
    return condition;
}

kf_expression *kf_expression_parse(const char *text, kf_error *error)
{
    size_t length = strlen(text);
    if (length > KF_EXPRESSION_BYTES) {
        kf_fail(error, KF_ERROR_LIMIT, "the expression is %zu bytes long; the limit is %d", length,
                KF_EXPRESSION_BYTES);
        return NULL;
    }
    size_t nodes_size = sizeof(kf_expression) + (length + 1) * sizeof(kf_node);
    kf_auto(kf_expression) expression = calloc(1, nodes_size + 2 * (length + 1));
    if (!expression) {
        kf_fail_memory(error, "an expression");
        return NULL;
    }
    expression->text = (char *)expression + nodes_size;
    expression->names = expression->text + length + 1;
    memcpy(expression->text, text, length + 1);
    kf_parser parser = {.expression = expression,
                        .text = expression->text,
                        .at = expression->text,
                        .names_end = expression->names,
                        .error = error};
    if (parse_ternary(&parser) < 0) return NULL;
    skip_space(&parser);
    if (*parser.at) {
        complain(&parser, parser.at,
                 *parser.at == '=' ? "'==' to compare" : "an operator or the end");
        return NULL;
    }
    return kf_steal(&expression);
}

void kf_expression_free(kf_expression *expression)
{
    free(expression);
}

const char *kf_expression_text(const kf_expression *expression)
{
    return expression->text;
}

void kf_expression_names(const kf_expression *expression,
                         void (*visit)(void *context, const char *name), void *context)
{
    for (int i = 0; i < expression->count; i++)
        if (expression->nodes[i].operation == NAME) visit(context, expression->nodes[i].name);
}

bool kf_expression_is_function(const char *name)
{
    for (size_t i = 0; i < FUNCTION_COUNT; i++)
        if (strcmp(functions[i].name, name) == 0) return true;
    return false;
}

/* ---- evaluation ------------------------------------------------------------------------------ */

typedef struct kf_evaluation {
    const kf_expression *expression;
    const kf_binding *bindings;
    size_t count;
    kf_error *error;
} kf_evaluation;

static bool evaluate(const kf_evaluation *evaluation, int index, kf_value *value);

static kf_value integer_value(int64_t integer)
{
    return (kf_value){.is_integer = true, .integer = integer, .number = (double)integer};
}

static bool is_true(kf_value value)
{
    return value.is_integer ? value.integer != 0 : value.number != 0;
}

static bool refuse(const kf_evaluation *evaluation, const kf_node *node, const char *what)
{
    return kf_fail(evaluation->error, KF_ERROR_INPUT, "expression \"%s\", column %d: %s",
                   excerpt(evaluation->expression->text, (char[204]){0}), node->column, what);
}

static bool look_up(const kf_evaluation *evaluation, const kf_node *node, kf_value *value)
{
    for (size_t i = 0; i < evaluation->count; i++) {
        if (strcmp(evaluation->bindings[i].name, node->name) != 0) continue;
        *value = integer_value(evaluation->bindings[i].value);
        return true;
    }
    const char *known[256];
    size_t count = evaluation->count < 256 ? evaluation->count : 256;
    for (size_t i = 0; i < count; i++) known[i] = evaluation->bindings[i].name;
    const char *near = kf_nearest(node->name, known, count);
    return kf_fail(evaluation->error, KF_ERROR_INPUT,
                   "expression \"%s\", column %d: unknown name %s%s%s%s",
                   excerpt(evaluation->expression->text, (char[204]){0}), node->column, node->name,
                   near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static bool compare(kf_operation operation, kf_value a, kf_value b)
{
    /* compares doubles only if one operand is a decimal, because integers beyond 2^53 must be exact
     */
    int order;
    if (a.is_integer && b.is_integer)
        order = (a.integer > b.integer) - (a.integer < b.integer);
    else
        order = (a.number > b.number) - (a.number < b.number);
    switch (operation) {
    case EQUAL: return order == 0;
    case UNEQUAL: return order != 0;
    case LESS: return order < 0;
    case LESS_EQUAL: return order <= 0;
    case GREATER: return order > 0;
    default: return order >= 0;
    }
}

static bool integer_arithmetic(const kf_evaluation *evaluation, const kf_node *node, int64_t a,
                               int64_t b, kf_value *value)
{
    int64_t result = 0;
    bool overflow = false;
    switch (node->operation) {
    case ADD: overflow = __builtin_add_overflow(a, b, &result); break;
    case SUBTRACT: overflow = __builtin_sub_overflow(a, b, &result); break;
    case MULTIPLY: overflow = __builtin_mul_overflow(a, b, &result); break;
    case CEIL_DIV:
        if (b <= 0) return refuse(evaluation, node, "the divisor of ceil_div has to be positive");
        result = a > 0 ? (a - 1) / b + 1 : a / b;
        break;
    default: /* DIVIDE, REMAINDER */
        if (b == 0) return refuse(evaluation, node, "division by zero");
        if (a == INT64_MIN && b == -1)
            overflow = node->operation == DIVIDE; /* INT64_MIN % -1 is 0, but undefined in C */
        else
            result = node->operation == DIVIDE ? a / b : a % b;
    }
    if (overflow) {
        char text[64];
        snprintf(text, sizeof text, "64-bit integer overflow in '%s'",
                 operation_name(node->operation));
        return refuse(evaluation, node, text);
    }
    *value = integer_value(result);
    return true;
}

static bool decimal_arithmetic(const kf_evaluation *evaluation, const kf_node *node, double a,
                               double b, kf_value *value)
{
    double result = 0;
    switch (node->operation) {
    case ADD: result = a + b; break;
    case SUBTRACT: result = a - b; break;
    case MULTIPLY: result = a * b; break;
    case DIVIDE:
        if (b == 0) return refuse(evaluation, node, "division by zero");
        result = a / b;
        break;
    default: {
        char text[64];
        snprintf(text, sizeof text, "'%s' takes integers, not decimals",
                 operation_name(node->operation));
        return refuse(evaluation, node, text);
    }
    }
    if (!isfinite(result))
        return refuse(evaluation, node, "the result is beyond what a double can hold");
    *value = (kf_value){.number = result};
    return true;
}

static bool evaluate_binary(const kf_evaluation *evaluation, const kf_node *node, kf_value *value)
{
    kf_value a, b;
    if (!evaluate(evaluation, node->child[0], &a)) return false;
    if (node->operation == AND || node->operation == OR) {
        bool decided = is_true(a) == (node->operation == OR);
        if (!decided && !evaluate(evaluation, node->child[1], &a)) return false;
        *value = integer_value(is_true(a));
        return true;
    }
    if (!evaluate(evaluation, node->child[1], &b)) return false;
    if (node->operation >= EQUAL && node->operation <= GREATER_EQUAL) {
        *value = integer_value(compare(node->operation, a, b));
        return true;
    }
    bool integers = a.is_integer && b.is_integer;
    if (node->operation == MIN || node->operation == MAX) {
        bool second = node->operation == MIN ? compare(LESS, b, a) : compare(GREATER, b, a);
        *value = second ? b : a;
        if (!integers) *value = (kf_value){.number = value->number};
        return true;
    }
    return integers ? integer_arithmetic(evaluation, node, a.integer, b.integer, value)
                    : decimal_arithmetic(evaluation, node, a.number, b.number, value);
}

static bool evaluate_unary(const kf_evaluation *evaluation, const kf_node *node, kf_value *value)
{
    kf_value a;
    if (!evaluate(evaluation, node->child[0], &a)) return false;
    if (node->operation == NOT) {
        *value = integer_value(!is_true(a));
        return true;
    }
    if (node->operation == LOG2) {
        if (!(a.number > 0))
            return refuse(evaluation, node, "log2 of a number that is not positive");
        *value = (kf_value){.number = log2(a.number)};
        return true;
    }
    if (a.is_integer) {
        if (node->operation == ABS && a.integer >= 0)
            *value = a;
        else if (a.integer == INT64_MIN)
            return refuse(evaluation, node, "64-bit integer overflow");
        else
            *value = integer_value(-a.integer);
    } else {
        *value = (kf_value){.number = node->operation == ABS ? fabs(a.number) : -a.number};
    }
    return true;
}

static bool evaluate(const kf_evaluation *evaluation, int index, kf_value *value)
{
    const kf_node *node = &evaluation->expression->nodes[index];
    kf_value condition;
    switch (node->operation) {
    case NUMBER: *value = node->constant; return true;
    case NAME: return look_up(evaluation, node, value);
    case CONDITIONAL:
        return evaluate(evaluation, node->child[0], &condition) &&
               evaluate(evaluation, node->child[is_true(condition) ? 1 : 2], value);
    case NEGATE:
    case NOT:
    case LOG2:
    case ABS: return evaluate_unary(evaluation, node, value);
    default: return evaluate_binary(evaluation, node, value);
    }
}

bool kf_expression_evaluate(const kf_expression *expression, const kf_binding *bindings,
                            size_t count, kf_value *value, kf_error *error)
{
    kf_evaluation evaluation = {
        .expression = expression, .bindings = bindings, .count = count, .error = error};
    return evaluate(&evaluation, expression->count - 1, value);
}
