"""Text of C++, unparsed: comments, brackets, parts and statements."""
import re

BLOCK = re.compile(r"(if|for|while|else|do|try|catch)\b|\{")


def without_comments(text):
    """Returns the text without comments, with all line breaks."""

    def blank(match):
        word = match.group(0)
        return word if word.startswith(('"', "'")) else re.sub(r"[^\n]", " ", word)

    return re.sub(
        r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'', blank, text, flags=re.S
    )


def closing(text, start):
    """Returns the index behind the bracket that closes the one at `start`."""
    pairs, depth = {"(": ")", "{": "}", "[": "]"}, 0
    for i in range(start, len(text)):
        if text[i] in pairs:
            depth += 1
        elif text[i] in pairs.values():
            depth -= 1
            if depth == 0:
                return i + 1
    return len(text)


def split(text, mark):
    """Returns (offset, part) of a text that is split at a mark outside of brackets."""
    depth, begin, parts = 0, 0, []
    for i, c in enumerate(text):
        depth += (c in "({[") - (c in ")}]")
        if c == mark and depth == 0:
            parts.append((begin, text[begin:i]))
            begin = i + 1
    parts.append((begin, text[begin:]))
    return parts


def pieces(body):
    """Returns (offset, text) of the statements of a block. A block that follows if or for is part
    of its statement."""
    at, found = 0, []
    while at < len(body):
        if body[at] in " \t\n;":
            at += 1
            continue
        end = at
        while end < len(body) and body[end] != ";":
            if body[end] in "({[":
                end = closing(body, end)
                if body[end - 1] == "}" and re.match(BLOCK, body[at:]):
                    rest = re.match(r"\s*else\b", body[end:])
                    if not rest:
                        break
            else:
                end += 1
        found.append((at, body[at:end].strip()))
        at = end + 1 if end < len(body) and body[end] == ";" else max(end, at + 1)
    return found
