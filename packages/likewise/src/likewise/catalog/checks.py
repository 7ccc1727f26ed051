"""Questions to the catalog that must have no answer: rows that contradict each other."""

from __future__ import annotations

from likewise.catalog.store import Store


def loose_ends(store: Store) -> list[str]:
    """Rows that contradict each other; empty when all is well."""
    questions = {
        "picture {} has no file": """SELECT id FROM images WHERE id NOT IN
            (SELECT image FROM files WHERE image IS NOT NULL)""",
        "file {} has neither a picture nor a problem": """SELECT path FROM files
            WHERE image IS NULL AND problem IS NULL""",
        "picture {} is there and removed": """SELECT image FROM tombstones
            WHERE image IN (SELECT id FROM images)""",
        "vectors of an unknown space {}": """SELECT DISTINCT space FROM vectors
            WHERE space NOT IN (SELECT name FROM spaces)""",
        "segment {} of an unknown space": """SELECT name FROM segments
            WHERE space NOT IN (SELECT name FROM spaces)""",
        "space {} names a generation that is not there": """SELECT name FROM spaces s
            WHERE generation > 0 AND NOT EXISTS (SELECT 1 FROM generations g
            WHERE g.space = s.name AND g.number = s.generation)""",
        "picture {} has metadata that is no JSON": """SELECT id FROM images
            WHERE NOT json_valid(metadata)""",
        "line {} of the log is no JSON": "SELECT number FROM log WHERE NOT json_valid(body)",
        "line {} of the log speaks of a picture nobody knows": """SELECT number FROM log
            WHERE json_valid(body) AND kind IN ('judge', 'compare') AND EXISTS (
                SELECT value FROM (
                    SELECT json_extract(body, '$.query') AS value
                    UNION ALL SELECT value FROM json_each(body, '$.liked')
                    UNION ALL SELECT value FROM json_each(body, '$.disliked')
                    UNION ALL SELECT value FROM json_each(body, '$.negatives')) AS said
                WHERE CAST(value AS INTEGER) NOT IN (SELECT id FROM subjects))""",
        "line {} of the log takes back what was never said": """SELECT number FROM log l
            WHERE kind = 'undo' AND json_valid(body) AND NOT EXISTS (SELECT 1 FROM log e
                WHERE e.number = CAST(json_extract(l.body, '$.judgement') AS INTEGER)
                AND e.number < l.number)""",
        "profile {} is a copy of one that is not there": """SELECT name FROM profiles
            WHERE parent IS NOT NULL AND parent NOT IN (SELECT name FROM profiles)""",
        "a code of picture {} that is no vector": """SELECT subject FROM codes
            WHERE length(vector) % 4 <> 0""",
    }
    found = [text.format(row[0]) for text, sql in questions.items() for row in store.all(sql)]
    return (
        found
        if store.one("SELECT number FROM revision") is not None
        else [*found, "the revision is gone"]
    )
