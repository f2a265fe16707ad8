-- +goose Up

-- billed_to: the first hour that is not billed yet; NULL before the first one.
-- billed_out: it ended and every hour is billed, so it is never looked at again.
ALTER TABLE resources ADD COLUMN billed_to timestamptz, ADD COLUMN billed_out boolean NOT NULL DEFAULT false;
CREATE INDEX resources_billing ON resources (billed_to NULLS FIRST, id) WHERE billed_from IS NOT NULL AND NOT billed_out;

-- What is not at rest: the sweeper reads this instead of the table, so that a
-- resource at rest costs it nothing.
CREATE INDEX resources_unsettled ON resources (greatest(stepped_at, updated_at))
    WHERE state NOT IN ('deleted', 'released')
      AND (state <> 'ready' OR intent <> 'present' OR applied < generation OR refresh_wanted OR drift <> '{}' OR missing_since IS NOT NULL OR error_class IN ('NotManaged', 'Refused'));

CREATE INDEX resources_live ON resources (tenant_id, created_at, id) WHERE state NOT IN ('deleted', 'released');
CREATE INDEX resources_at_rest ON resources (account_id, kind, id) WHERE state = 'ready' AND intent = 'present';
CREATE INDEX quota_bookings_capacity ON quota_bookings (tenant_id, pool_id, capacity);

-- When the account's sweep last began.
ALTER TABLE provider_accounts ADD COLUMN swept_at timestamptz;
