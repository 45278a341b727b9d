"""As much of JSON Schema as the schemas in docs/schemas use; anything else in them is refused."""

from __future__ import annotations

TYPES = {
    "string": str,
    "boolean": bool,
    "object": dict,
    "array": list,
    "null": type(None),
}
KNOWN = {
    *("$schema", "title", "description", "type", "enum", "oneOf"),
    *("properties", "required", "additionalProperties", "items"),
}


def is_a(value, kind):
    if kind in ("number", "integer"):
        numbers = int | float if kind == "number" else int
        return isinstance(value, numbers) and not isinstance(value, bool)
    return isinstance(value, TYPES[kind])


def faults(value, schema, place="$"):
    """Where a value is not as the schema says."""
    assert set(schema) <= KNOWN, set(schema) - KNOWN
    if "oneOf" in schema:
        tried = [faults(value, one, place) for one in schema["oneOf"]]
        return [] if sum(not found for found in tried) == 1 else min(tried, key=len)
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(is_a(value, kind) for kind in kinds):
        return [f"{place}: {value!r} is not {kinds}"]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{place}: {value!r} is not among {schema['enum']}"]
    found = []
    if isinstance(value, dict):
        known, rest = schema.get("properties", {}), schema.get("additionalProperties", True)
        absent = set(schema.get("required", ())) - set(value)
        found += [f"{place}.{name} is missing" for name in absent]
        for name, entry in value.items():
            if name in known:
                found += faults(entry, known[name], f"{place}.{name}")
            elif rest is False:
                found.append(f"{place}.{name} is not in the schema")
            elif isinstance(rest, dict):
                found += faults(entry, rest, f"{place}.{name}")
    elif isinstance(value, list) and "items" in schema:
        for number, entry in enumerate(value):
            found += faults(entry, schema["items"], f"{place}[{number}]")
    return found
