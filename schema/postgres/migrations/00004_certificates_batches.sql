-- +goose Up

CREATE TABLE certificates (
    id             text PRIMARY KEY CHECK (id ~ '^crt_'),
    tenant_id      text NOT NULL REFERENCES tenants,
    project_id     text REFERENCES projects,
    pool_id        text NOT NULL REFERENCES pools,
    account_id     text NOT NULL REFERENCES provider_accounts,
    provider       text NOT NULL,
    name           text NOT NULL,
    description    text NOT NULL DEFAULT '',
    owner          text NOT NULL,
    request_digest bytea NOT NULL,
    type           text NOT NULL CHECK (type IN ('custom', 'lets_encrypt')),
    material       jsonb NOT NULL,           -- leaf, chain, reference of the key, domains: nothing secret
    version        bigint NOT NULL CHECK (version >= 1),
    generation     bigint NOT NULL CHECK (generation >= 1),
    serial         bigint NOT NULL DEFAULT 0,
    intent         text NOT NULL CHECK (intent IN ('present', 'delete')),
    state          text NOT NULL CHECK (state IN ('pending', 'provisioning', 'ready', 'updating', 'deleting', 'deleted', 'error')),
    message        text NOT NULL DEFAULT '',
    current_serial bigint NOT NULL DEFAULT 0,
    provider_id    text NOT NULL DEFAULT '', -- of the object in service
    next_id        text NOT NULL DEFAULT '', -- of the one that will replace it
    former         jsonb NOT NULL DEFAULT '[]',
    attempted_at   timestamptz,
    retry_at       timestamptz,
    failures       integer NOT NULL DEFAULT 0,
    fingerprint    text NOT NULL DEFAULT '',
    not_before     timestamptz,
    not_after      timestamptz,
    names          text[] NOT NULL DEFAULT '{}',
    provider_state text NOT NULL DEFAULT '',
    noticed        integer NOT NULL DEFAULT 0,
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL,
    ready_at       timestamptz,
    ended_at       timestamptz,
    stepped_at     timestamptz,
    CONSTRAINT certificates_final_has_end CHECK ((state = 'deleted') = (ended_at IS NOT NULL)),
    CONSTRAINT certificates_ready_has_object CHECK (state <> 'ready' OR provider_id <> ''),
    CONSTRAINT certificates_error_is_explained CHECK (state <> 'error' OR message <> '')
);
CREATE UNIQUE INDEX certificates_name ON certificates (tenant_id, name) WHERE state <> 'deleted';
CREATE INDEX certificates_list ON certificates (tenant_id, created_at, id);
CREATE INDEX certificates_account ON certificates (account_id) WHERE state <> 'deleted';
CREATE INDEX certificates_expiry ON certificates (not_after) WHERE state <> 'deleted' AND noticed >= 0;

CREATE TABLE command_batches (
    id             text PRIMARY KEY CHECK (id ~ '^cmb_'),
    tenant_id      text NOT NULL REFERENCES tenants,
    description    text NOT NULL DEFAULT '',
    owner          text NOT NULL,
    request_digest bytea NOT NULL,
    trust_domain   text NOT NULL,
    root           text NOT NULL,
    leaf_count     integer NOT NULL CHECK (leaf_count > 0),
    threshold      integer NOT NULL CHECK (threshold >= 0),
    expires_at     timestamptz NOT NULL,
    resource_id    text NOT NULL DEFAULT '',
    state          text NOT NULL CHECK (state IN ('awaitingApproval', 'dispatching', 'completed', 'cancelled', 'expired')),
    message        text NOT NULL DEFAULT '',
    generation     bigint NOT NULL,
    approvers      text[] NOT NULL DEFAULT '{}',
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL,
    ended_at       timestamptz,
    CONSTRAINT command_batches_final_has_end CHECK ((state IN ('completed', 'cancelled', 'expired')) = (ended_at IS NOT NULL))
);
CREATE INDEX command_batches_list ON command_batches (tenant_id, created_at, id);
CREATE INDEX command_batches_open ON command_batches (state) WHERE ended_at IS NULL;

CREATE TABLE batch_commands (
    batch_id       text NOT NULL REFERENCES command_batches,
    index          integer NOT NULL,
    subject        text NOT NULL,
    kind           text NOT NULL,
    payload        bytea,
    payload_digest text NOT NULL DEFAULT '',
    state          text NOT NULL CHECK (state IN ('waiting', 'sent', 'succeeded', 'failed', 'interrupted', 'refused', 'dropped')),
    attempts       integer NOT NULL DEFAULT 0,
    due_at         timestamptz NOT NULL,
    message        text NOT NULL DEFAULT '',
    answer         jsonb,
    PRIMARY KEY (batch_id, index)
);
CREATE INDEX batch_commands_due ON batch_commands (batch_id, due_at) WHERE state IN ('waiting', 'sent');

CREATE TABLE batch_approvals (
    batch_id    text NOT NULL REFERENCES command_batches,
    approver_id text NOT NULL,
    approval    jsonb NOT NULL,              -- exactly what was signed with, for the audit trail
    actor       text NOT NULL,               -- who handed it in
    at          timestamptz NOT NULL,
    PRIMARY KEY (batch_id, approver_id)
);
