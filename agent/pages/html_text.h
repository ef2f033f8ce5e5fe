/* Text in HTML and SVG. */
#ifndef KFORGE_AGENT_HTML_TEXT_H
#define KFORGE_AGENT_HTML_TEXT_H

#include "kforge/buffer.h"

/* Appends `text` with its markup characters escaped: safe between tags and in quoted attributes. */
void kf_html_text(kf_buffer *out, const char *text);

#endif
