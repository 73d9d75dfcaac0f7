CREATE TABLE schema_version (version INTEGER PRIMARY KEY);
CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, description TEXT, session_type TEXT, working_dir TEXT, created_at TIMESTAMP, updated_at TIMESTAMP,
 extension_data TEXT, provider_name TEXT, model_config_json TEXT, parent_session_id TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT NOT NULL, role TEXT NOT NULL, content_json TEXT NOT NULL,
 created_timestamp INTEGER NOT NULL, metadata_json TEXT);
CREATE TABLE usage_ledger (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, created_timestamp INTEGER, model TEXT, input_tokens INTEGER, output_tokens INTEGER,
 total_tokens INTEGER, cache_read_tokens INTEGER, cache_write_tokens INTEGER, cost REAL, is_compaction INTEGER DEFAULT 0);
INSERT INTO sessions VALUES ('20261120_1', 'The mill', '', 'user', '/home/u/mill', '2026-11-20 10:00:00', '2026-11-20T10:30:00+00:00', '{}', 'anthropic', '{"model_name":"claude-sonnet-4-5","context_limit":200000}', NULL);
INSERT INTO sessions VALUES ('20261120_2', 'Look', '', 'sub_agent', '/home/u/mill', '2026-11-20 10:01:00', '2026-11-20 10:02:00', '{}', 'anthropic', NULL, '20261120_1');
INSERT INTO sessions VALUES ('20261120_3', 'Empty', '', 'user', '/', '2026-11-20 11:00:00', NULL, '{}', NULL, NULL, NULL);
INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp, metadata_json) VALUES
 ('u1', '20261120_1', 'user', '[{"type":"text","text":"Why does the mill stop?"}]', 1795255200, '{"userVisible":true,"agentVisible":false}'),
 ('a1', '20261120_1', 'assistant', '[{"type":"thinking","thinking":"look","signature":"c2ln"},{"type":"text","text":"I look."}]', 1795255205, '{"userVisible":true,"agentVisible":false}'),
 ('a1', '20261120_1', 'assistant', '[{"type":"toolRequest","id":"t1","toolCall":{"status":"success","value":{"name":"developer__shell","arguments":{"command":"ls"}}}},{"type":"toolRequest","id":"t2","toolCall":{"status":"success","value":{"name":"developer__shell","arguments":{"command":"cat"}}}}]', 1795255206, '{"userVisible":true,"agentVisible":false}'),
 ('r1', '20261120_1', 'user', '[{"type":"toolResponse","id":"t1","toolResult":{"status":"success","value":{"content":[{"type":"text","text":"a.go"}],"isError":false}}},{"type":"toolResponse","id":"t2","toolResult":{"status":"error","error":"no file"}}]', 1795255207, '{"userVisible":true,"agentVisible":false}'),
 ('u2', '20261120_1', 'user', '[{"type":"text","text":"And now?"}]', 1795255300, '{"userVisible":false,"agentVisible":false}'),
 ('s1', '20261120_1', 'user', '[{"type":"text","text":"The brake is stuck."}]', 1795255305, '{"userVisible":false,"agentVisible":true}'),
 ('s2', '20261120_1', 'assistant', '[{"type":"text","text":"Go on."}]', 1795255305, '{"userVisible":false,"agentVisible":true}'),
 ('u3', '20261120_1', 'user', '[{"type":"text","text":"And now?"}]', 1795255305, '{"userVisible":true,"agentVisible":true}'),
 ('n1', '20261120_1', 'assistant', '[{"type":"systemNotification","notificationType":"inlineMessage","msg":"compacted"}]', 1795255305, NULL),
 ('a2', '20261120_1', 'assistant', '[{"type":"text","text":"It turns."},{"type":"image","data":"aGk=","mimeType":"image/png"}]', 1795255310, NULL),
 ('x1', '20261120_1', 'user', 'no JSON', 1795255310, NULL),
 ('u9', '20261120_2', 'user', '[{"type":"text","text":"Look."}]', 1795255260, NULL),
 ('a9', '20261120_2', 'assistant', '[{"type":"text","text":"Seen."}]', 1795255261, NULL);
INSERT INTO usage_ledger (session_id, created_timestamp, model, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost, is_compaction) VALUES
 ('20261120_1', 1795255206, 'claude-sonnet-4-5', 9000, 40, 8000, 900, 0.5, 0), ('20261120_1', 1795255305, 'claude-haiku-4-5', 9100, 70, 0, 0, NULL, 1),
 ('20261120_1', 1795255310, 'claude-sonnet-4-5', 5000, 6, NULL, NULL, NULL, 0);
