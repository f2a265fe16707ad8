-- +goose Up

-- refresh_wanted: somebody, or a sweep that saw something odd, wants one look.
ALTER TABLE certificates ADD COLUMN refresh_wanted boolean NOT NULL DEFAULT false;

-- When the object in service was asked for: until that has settled, its absence
-- does not mean that it is gone.
ALTER TABLE certificates ADD COLUMN current_attempted_at timestamptz;

-- What is not at rest, for the healer.
CREATE INDEX certificates_unsettled ON certificates (greatest(stepped_at, updated_at))
    WHERE state <> 'deleted' AND (state <> 'ready' OR intent <> 'present' OR current_serial < serial OR former <> '[]' OR refresh_wanted);

-- The deletions that a batch holds.
CREATE INDEX resources_held ON resources (held_by) WHERE held_by <> '';
