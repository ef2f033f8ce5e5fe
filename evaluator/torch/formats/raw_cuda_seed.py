"""The seed of a problem with a driver: init.cu with an entry of the task's prototype."""
import re

from formats.cpp_expressions import resolve

C_TYPES = {
    "f64": "double",
    "f32": "float",
    "f16": "__half",
    "bf16": "__nv_bfloat16",
    "i64": "int64_t",
    "i32": "int32_t",
    "i16": "int16_t",
    "i8": "int8_t",
    "u8": "uint8_t",
    "bool": "bool",
}


def seed_of(text, driver, constants, description):
    """Returns {"init.cu": init.cu with an entry of the task's prototype}, or a note why not."""
    by_source = {a["name"]: a["name"] for a in description["inputs"]}
    by_source.update({a["name"]: a["argument"] for a in description["state"]})
    output = description["outputs"][0]
    parameters = [
        "const %s *%s" % (C_TYPES.get(a["dtype"], "void"), a["name"]) for a in description["inputs"]
    ]
    parameters += [
        "const %s *%s" % (C_TYPES.get(a["dtype"], "void"), a["argument"])
        for a in description["state"]
    ]
    parameters += ["%s *%s" % (C_TYPES.get(output["dtype"], "void"), output["name"])]
    given = []
    for i, (code, source) in enumerate(zip(driver.arguments, driver.pointers)):
        if i == driver.output_at:
            given.append(output["name"])
        elif source is not None:
            name = by_source.get(source) or by_source.get(alias(driver, source))
            if name is None:
                return (
                    {},
                    "no seed: the argument %s of the call is no argument of the task" % source,
                )
            given.append("(void *)" + name)
        else:
            value = resolve(code, constants, description["patches"])
            if code.endswith("else (None)") or is_null(driver, code):
                code = "None"
            if code == "None" or value is None and code == "nullptr":
                given.append("nullptr")
            elif isinstance(value, bool):
                given.append("true" if value else "false")
            elif isinstance(value, (int, float)):
                given.append(repr(value))
            else:
                return {}, "no seed: the value of the argument %s is unknown" % code[:40]
    name = driver.call[0]
    entry = "KFORGE_ENTRY"
    lines = [
        "",
        "/* The entry of the task, added by the import. */",
        'extern "C" void %s(%s, cudaStream_t)' % (entry, ", ".join(parameters)),
        "{",
        "    %s(%s);" % (name, ", ".join(given)),
        "}",
        "",
    ]
    includes = "#include <cstdint>\n#include <cuda_fp16.h>\n"
    return {"init.cu": includes + text.rstrip("\n") + "\n" + "\n".join(lines)}, ""


def is_null(driver, name):
    """True if a pointer's last value is nullptr."""
    values = [s.code for s in driver.statements if s.target == name]
    return values[-1:] == ["None"]


def alias(driver, source):
    """Returns the name behind another name: conv.weight of `weight = conv.weight`."""
    for statement in driver.statements:
        if statement.target == source and statement.kind == "compute":
            code = re.sub(r"(\.(detach|clone|contiguous)\(\))+", "", statement.code)
            code = re.sub(r"^to\(([\w.]+),.*\)$|\.to\([\w.]*\)", r"\1", code)
            return code if re.match(r"^[\w.]+$", code) else source
        # a parameter that got the numbers of a tensor
        given = re.match(
            r"^(?:set_data\()?([\w.]+?)(?:\.copy_\(|,\s*)%s\b" % re.escape(source), statement.code
        )
        if statement.kind == "call" and given:
            return re.sub(r"\.data$", "", given.group(1))
    return source
