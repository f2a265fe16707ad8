-- +goose Up

-- Grows with each apply that changed something, so that who keeps policies or
-- issuers in memory can tell at the next call that they are old.
ALTER TABLE deployment ADD COLUMN revision bigint NOT NULL DEFAULT 0;

-- declared: the platform file still names it. What no longer is stays only
-- because ended records refer to it; nothing new may.
ALTER TABLE tenants RENAME COLUMN platform_file TO declared;
ALTER TABLE projects ADD COLUMN declared boolean NOT NULL DEFAULT true;
ALTER TABLE provider_accounts ADD COLUMN declared boolean NOT NULL DEFAULT true;
ALTER TABLE pools ADD COLUMN declared boolean NOT NULL DEFAULT true;
-- withdrawn: takes nothing new; what lives there is managed on.
ALTER TABLE pools ADD COLUMN withdrawn boolean NOT NULL DEFAULT false;

-- Without a secret store a token is not kept: token_source says which variable
-- or file of the process that needs it holds it. An account that is no longer
-- declared has neither.
ALTER TABLE provider_accounts ALTER COLUMN token_sealed DROP NOT NULL,
    ADD COLUMN token_source jsonb,
    ADD CONSTRAINT provider_accounts_token CHECK (num_nonnulls(token_sealed, token_source) = 1 OR NOT declared);
ALTER TABLE subscribers ALTER COLUMN secret_sealed DROP NOT NULL,
    ADD COLUMN secret_source jsonb,
    ADD CONSTRAINT subscribers_secret CHECK (num_nonnulls(secret_sealed, secret_source) = 1);

-- Where the gateway sends commands; the first whose patterns match a kind.
CREATE TABLE daemons (
    position     integer PRIMARY KEY,
    kinds        text[] NOT NULL,
    url          text NOT NULL,
    token_sealed bytea,
    token_source jsonb
);

-- A delivery that is given up and one that an operator asks for again are found
-- without reading those that arrived.
CREATE INDEX deliveries_subject ON deliveries (subscriber_id, subject, sequence) WHERE status = 'waiting';
CREATE INDEX deliveries_dead ON deliveries (subscriber_id, sequence) WHERE status = 'dead';

-- Who asks the provider for a shared answer right now, and until when others wait for it.
CREATE TABLE provider_questions (
    account_id text NOT NULL,
    question   text NOT NULL,
    claim      uuid NOT NULL,
    until      timestamptz NOT NULL,
    PRIMARY KEY (account_id, question)
);
CREATE INDEX audit_tenant ON audit (tenant_id, id);

-- hour_left is what is left of the provider's hour, hour_limit the hour's size in
-- the provider's own words; from hour_reset on it grows back. queued is how many
-- refused requests are to come back, fading as tokens grow.
ALTER TABLE account_budget ALTER COLUMN hour_left TYPE double precision,
    ADD COLUMN hour_limit bigint, ADD COLUMN queued double precision NOT NULL DEFAULT 0;
