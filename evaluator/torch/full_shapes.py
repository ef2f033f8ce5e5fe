"""The shapes of the outputs of a problem that is too large for its measurements, where tensors
without storage (meta.py) do not show them: a module that reads values of its inputs.

The device itself shows them where one call fits its memory and the time. Otherwise they follow from
smaller sizes: each constant that was made smaller is doubled alone, and all together as a check.
Extents that are not sums of multiples of constants are not found.
"""
import os
import resource
import time

import torch

import load
import meta
import problem_measure

SHARE = 0.25  # of the time that one call may take


def bytes_available():
    """Returns the bytes that this process may take."""
    limits = [
        limit
        for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)
        for limit in [resource.getrlimit(kind)[0]]
        if limit != resource.RLIM_INFINITY
    ]
    return min(limits + [os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")])


def shapes_at(path, patches, options):
    """Returns the outputs of one call under these patches; None if it fails."""
    try:
        problem = load.Problem.read(path, patches, options.class_name)
        inputs = problem_measure.draw_inputs(problem, 42)
        model = problem_measure.make_model(problem, 42, options.mode)
        with torch.no_grad():
            return problem_measure.flatten_outputs(model(*inputs))
    except Exception:
        return None


def fits(size, small_elements, small_seconds, options):
    """True if one call at the full size needs neither too much memory nor too much time."""
    needed = 2 * sum(t.numel() * t.element_size() for t in size.tensors())
    seconds = small_seconds * size.elements / max(1, small_elements)
    return needed < bytes_available() / 2 and seconds < SHARE * options.seconds


def predicted(path, full, small, options):
    """Returns the outputs' shapes under the patches `full`, from sizes near `small`. None if they
    do not follow."""
    base = shapes_at(path, small, options)
    known = load.Problem.read(path, full, options.class_name).numbers()
    names = [name for name, value in small.items() if known.get(name) != value]
    shapes = [list(o.shape) for o in base or []]
    if not shapes:
        return None
    steps = []
    for name in names:
        other = shapes_at(path, {**small, name: 2 * small[name]}, options)
        if other is None or [o.dim() for o in other] != [len(s) for s in shapes]:
            return None
        steps.append(
            [[(n - b) / small[name] for n, b in zip(o.shape, s)] for o, s in zip(other, shapes)]
        )

    def shapes_with(values):
        return [
            [
                extent
                + sum(step[i][d] * (values[name] - small[name]) for name, step in zip(names, steps))
                for d, extent in enumerate(shape)
            ]
            for i, shape in enumerate(shapes)
        ]

    doubled = {**small, **{name: 2 * small[name] for name in names}}
    check = shapes_at(path, doubled, options)
    if check is None or [list(o.shape) for o in check] != shapes_with(doubled):
        return None
    found = shapes_with(known)
    if any(n != int(n) or n < 1 for shape in found for n in shape):
        return None
    return [
        torch.empty([int(n) for n in shape], dtype=o.dtype, device="meta")
        for shape, o in zip(found, base)
    ]


def complete(path, problem, full, small, size, options):
    """Sets the outputs of `size`, and returns a note about their origin; None if they stay unknown."""
    started = time.monotonic()
    made = shapes_at(path, small, options)
    seconds = time.monotonic() - started
    small_size = meta.size(load.Problem.read(path, small, options.class_name), options)
    if made is None or small_size is None:
        return None
    if fits(size, small_size.elements, seconds, options) and meta.run_for_real(
        problem, options, size
    ):
        if size.outputs is not None:
            return "the shapes of its outputs are those of one call at its own size"
    size.outputs = predicted(path, full, small, options)
    return (
        None
        if size.outputs is None
        else "the shapes of its outputs follow from smaller sizes: no call at its own size was made"
    )
