#include "html_text.h"

void kf_html_text(kf_buffer *out, const char *text)
{
    for (; *text; text++) switch (*text) {
        case '&': kf_buffer_string(out, "&amp;"); break;
        case '<': kf_buffer_string(out, "&lt;"); break;
        case '>': kf_buffer_string(out, "&gt;"); break;
        case '"': kf_buffer_string(out, "&quot;"); break;
        case '\'': kf_buffer_string(out, "&#39;"); break;
        default: kf_buffer_append(out, text, 1);
        }
}
