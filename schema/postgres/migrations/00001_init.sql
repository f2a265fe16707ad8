-- +goose Up

-- Who may ask, on whose behalf, for what. These tables follow the platform file.
CREATE TABLE deployment (
    only_row   boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    name       text NOT NULL,
    settings   jsonb NOT NULL DEFAULT '{}'  -- maxPerKind, kindMeters, pki, oidc issuers, webhooks' common part
);

CREATE TABLE tenants (
    id         text PRIMARY KEY,
    event_seq  bigint NOT NULL DEFAULT 0,   -- last sequence given to an event of the tenant
    platform_file boolean NOT NULL DEFAULT true
);

CREATE TABLE principals (
    id           text PRIMARY KEY,          -- "<tenant>/<user>"
    tenant_id    text NOT NULL REFERENCES tenants,
    user_name    text NOT NULL,
    token_sha256 bytea[] NOT NULL DEFAULT '{}'
);
CREATE INDEX principals_token ON principals USING gin (token_sha256);

CREATE TABLE policies (
    id       text PRIMARY KEY,
    document jsonb NOT NULL
);

CREATE TABLE projects (
    id        text PRIMARY KEY,
    tenant_id text NOT NULL REFERENCES tenants
);

CREATE TABLE provider_accounts (
    id              text PRIMARY KEY,
    provider        text NOT NULL,
    owner_tenant_id text NOT NULL REFERENCES tenants,
    token_sealed    bytea NOT NULL,         -- sealed with the key set; the platform file names a variable or file
    api_url         text NOT NULL DEFAULT '',
    regions         text[] NOT NULL DEFAULT '{}',
    previews        boolean NOT NULL DEFAULT false,
    -- set while the account does not answer for us (token refused, locked); resources keep their state
    unreachable_since   timestamptz,
    unreachable_message text NOT NULL DEFAULT ''
);

CREATE TABLE pools (
    id              text PRIMARY KEY,
    type            text NOT NULL,          -- 'provider' or another
    owner_tenant_id text NOT NULL REFERENCES tenants,
    account_id      text REFERENCES provider_accounts,
    billing         text NOT NULL DEFAULT 'metered' CHECK (billing IN ('metered', 'platform-fee', 'none')),
    destructive_quorum boolean NOT NULL DEFAULT false,
    CHECK (type <> 'provider' OR account_id IS NOT NULL)
);

CREATE TABLE offers (
    tenant_id        text NOT NULL REFERENCES tenants,
    pool_id          text NOT NULL REFERENCES pools,
    status           text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended')),
    excluded_regions text[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (tenant_id, pool_id)
);

-- pool_id '' and kind '' mean every one.
CREATE TABLE quotas (
    tenant_id text NOT NULL REFERENCES tenants,
    kind      text NOT NULL,
    max_count bigint NOT NULL CHECK (max_count >= 0),
    PRIMARY KEY (tenant_id, kind)
);

CREATE TABLE capacities (
    tenant_id text NOT NULL REFERENCES tenants,
    pool_id   text NOT NULL REFERENCES pools,
    capacity  text NOT NULL,
    amount    bigint NOT NULL CHECK (amount >= 0),
    PRIMARY KEY (tenant_id, pool_id, capacity)
);

CREATE TABLE budgets (
    tenant_id text NOT NULL REFERENCES tenants,
    id        text NOT NULL,
    max_amount numeric NOT NULL CHECK (max_amount >= 0),
    used_amount numeric NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, id)
);

CREATE TABLE instances (
    id          text PRIMARY KEY,
    tenant_id   text NOT NULL REFERENCES tenants,
    account_id  text NOT NULL REFERENCES provider_accounts,
    provider_id text NOT NULL,
    live        boolean NOT NULL DEFAULT true
);

CREATE TABLE networks (
    id         text PRIMARY KEY,
    tenant_id  text NOT NULL REFERENCES tenants,
    account_id text NOT NULL REFERENCES provider_accounts,
    vpcs       jsonb NOT NULL DEFAULT '{}',  -- region -> provider id
    live       boolean NOT NULL DEFAULT true
);

-- What is wanted and what was seen, side by side.
CREATE TABLE resources (
    id             text PRIMARY KEY CHECK (id ~ '^crs_'),
    tenant_id      text NOT NULL REFERENCES tenants,
    project_id     text REFERENCES projects,
    pool_id        text NOT NULL REFERENCES pools,
    account_id     text NOT NULL REFERENCES provider_accounts,
    provider       text NOT NULL,
    kind           text NOT NULL,
    family         text NOT NULL,
    name           text NOT NULL,
    description    text NOT NULL DEFAULT '',
    parent_id      text REFERENCES resources,
    region         text NOT NULL DEFAULT '',
    identity       text NOT NULL DEFAULT '',
    owner          text NOT NULL,
    billed         boolean NOT NULL,
    request_digest bytea NOT NULL,           -- of the first request, for replays (D1)

    spec           json NOT NULL,            -- json, not jsonb: 64-bit integers and order survive
    version        bigint NOT NULL CHECK (version >= 1),
    generation     bigint NOT NULL CHECK (generation >= 1),
    intent         text NOT NULL CHECK (intent IN ('present', 'release', 'delete')),
    state          text NOT NULL CHECK (state IN ('pending', 'provisioning', 'ready', 'updating', 'deleting', 'deleted', 'released', 'error')),
    message        text NOT NULL DEFAULT '',
    provider_id    text NOT NULL DEFAULT '',
    outputs        json NOT NULL DEFAULT '{}',
    secret_outputs jsonb NOT NULL DEFAULT '{}',  -- name -> SecretRef
    adopted        boolean NOT NULL DEFAULT false,
    observed_only  boolean NOT NULL DEFAULT false,
    drift          text[] NOT NULL DEFAULT '{}',

    applied           bigint NOT NULL DEFAULT 0,
    applied_spec      json,
    attempted_at      timestamptz,
    accepted_at       timestamptz,
    billed_from       timestamptz,
    taken_over_at     timestamptz,
    missing_since     timestamptz,
    retry_at          timestamptz,
    error_class       text NOT NULL DEFAULT '',
    failures          integer NOT NULL DEFAULT 0,
    failed_generation bigint NOT NULL DEFAULT 0,
    sent              jsonb NOT NULL DEFAULT '{}',
    repairs           jsonb NOT NULL DEFAULT '{}',
    memo              jsonb NOT NULL DEFAULT '{}',
    refresh_wanted    boolean NOT NULL DEFAULT false,
    held_by           text NOT NULL DEFAULT '',
    before            jsonb,
    created_at        timestamptz NOT NULL,
    updated_at        timestamptz NOT NULL,
    ready_at          timestamptz,
    ended_at          timestamptz,
    -- when a worker last finished a step for it; the sweeper compares it with what is due
    stepped_at        timestamptz,

    CONSTRAINT resources_final_has_end CHECK ((state IN ('deleted', 'released')) = (ended_at IS NOT NULL)),
    CONSTRAINT resources_ready_was_accepted CHECK (state <> 'ready' OR provider_id <> ''),
    CONSTRAINT resources_error_is_explained CHECK (state <> 'error' OR message <> ''),
    CONSTRAINT resources_deleting_is_meant CHECK (state <> 'deleting' OR intent = 'delete')
);
CREATE UNIQUE INDEX resources_name ON resources (tenant_id, kind, name) WHERE state NOT IN ('deleted', 'released');
CREATE UNIQUE INDEX resources_identity ON resources (parent_id, kind, identity)
    WHERE state NOT IN ('deleted', 'released') AND parent_id IS NOT NULL AND identity <> '';
CREATE UNIQUE INDEX resources_provider_id ON resources (account_id, kind, provider_id, coalesce(parent_id, ''))
    WHERE state NOT IN ('deleted', 'released') AND provider_id <> '';
CREATE INDEX resources_list ON resources (tenant_id, created_at, id);
CREATE INDEX resources_parent ON resources (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX resources_account ON resources (account_id, kind) WHERE state NOT IN ('deleted', 'released');

CREATE TABLE authorization_rows (
    resource_id text PRIMARY KEY,            -- the full id of what is decided on
    tenant_id   text NOT NULL,
    owner       text NOT NULL,
    attributes  jsonb NOT NULL DEFAULT '{}'
);

-- amount is what counts against the quota now; wanted is what the spec asks
-- for. They differ between a shrink and the provider's word that it runs.
CREATE TABLE quota_bookings (
    resource_id text NOT NULL REFERENCES resources,
    capacity    text NOT NULL,
    tenant_id   text NOT NULL,
    pool_id     text NOT NULL,
    amount      bigint NOT NULL CHECK (amount >= 0),
    wanted      bigint NOT NULL CHECK (wanted >= 0),
    PRIMARY KEY (resource_id, capacity)
);

CREATE TABLE secrets (
    tenant_id  text NOT NULL REFERENCES tenants,
    name       text NOT NULL,
    sealed     bytea NOT NULL,
    digest     bytea NOT NULL,               -- keyed hash: tells a change without the value
    resource_id text NOT NULL DEFAULT '',    -- set for sealed outputs; destroyed with it
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, name)
);
CREATE INDEX secrets_resource ON secrets (resource_id) WHERE resource_id <> '';

CREATE TABLE events (
    id        text PRIMARY KEY,
    tenant_id text NOT NULL REFERENCES tenants,
    sequence  bigint NOT NULL,
    type      text NOT NULL,
    subject   text NOT NULL,
    at        timestamptz NOT NULL,
    actor     text NOT NULL,
    data      jsonb NOT NULL,
    UNIQUE (tenant_id, sequence)
);
CREATE INDEX events_subject ON events (subject, sequence);

-- One open row per workflow that must hear something. signal carries no truth.
CREATE TABLE outbox (
    workflow_id   text PRIMARY KEY,
    workflow_type text NOT NULL,
    signal        text NOT NULL,
    generation    bigint NOT NULL DEFAULT 0,
    serial        bigint NOT NULL DEFAULT 1,  -- grows with each request, so that an older delivery does not close a newer row
    created_at    timestamptz NOT NULL DEFAULT now(),
    due_at        timestamptz NOT NULL DEFAULT now(),
    attempts      integer NOT NULL DEFAULT 0
);
CREATE INDEX outbox_due ON outbox (due_at);

CREATE TABLE usage_hours (
    resource_id text NOT NULL,
    tenant_id   text NOT NULL,
    meter       text NOT NULL,
    hour        timestamptz NOT NULL,
    quantity    numeric NOT NULL DEFAULT 1,
    PRIMARY KEY (resource_id, meter, hour)
);
CREATE INDEX usage_tenant ON usage_hours (tenant_id, hour);

CREATE TABLE account_budget (
    account_id   text PRIMARY KEY,
    tokens       double precision NOT NULL,
    refilled_at  timestamptz NOT NULL,
    hour_left    bigint,
    hour_reset   timestamptz,
    paused_until timestamptz
);

-- An answer of a provider account shared by every API process for a while.
CREATE TABLE provider_answers (
    account_id text NOT NULL,
    question   text NOT NULL,
    answer     jsonb NOT NULL,
    at         timestamptz NOT NULL,
    PRIMARY KEY (account_id, question)
);

-- Webhooks: one row per subscriber of the platform file, and what could not be
-- delivered.
CREATE TABLE subscribers (
    id        text PRIMARY KEY,
    tenant_id text NOT NULL REFERENCES tenants,
    url       text NOT NULL,
    secret_sealed bytea NOT NULL,
    types     text[] NOT NULL DEFAULT '{}',
    active    boolean NOT NULL DEFAULT true,
    -- events up to here are settled: delivered or dead
    cursor    bigint NOT NULL DEFAULT 0
);

CREATE TABLE deliveries (
    subscriber_id text NOT NULL REFERENCES subscribers ON DELETE CASCADE,
    event_id      text NOT NULL REFERENCES events,
    subject       text NOT NULL,
    sequence      bigint NOT NULL,
    status        text NOT NULL CHECK (status IN ('waiting', 'delivered', 'dead')),
    attempts      integer NOT NULL DEFAULT 0,
    due_at        timestamptz NOT NULL,
    first_at      timestamptz,
    last_error    text NOT NULL DEFAULT '',
    PRIMARY KEY (subscriber_id, event_id)
);
CREATE INDEX deliveries_due ON deliveries (subscriber_id, due_at) WHERE status = 'waiting';

CREATE TABLE audit (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at        timestamptz NOT NULL,
    tenant_id text NOT NULL,
    actor     text NOT NULL,
    action    text NOT NULL,
    subject   text NOT NULL,
    detail    jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX audit_subject ON audit (subject, id);

