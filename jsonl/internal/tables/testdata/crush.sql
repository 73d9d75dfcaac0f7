CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT NOT NULL, message_count INTEGER, prompt_tokens INTEGER, completion_tokens INTEGER,
 cost REAL, updated_at INTEGER, created_at INTEGER, summary_message_id TEXT);
CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, role TEXT NOT NULL, parts BLOB NOT NULL, model TEXT, created_at INTEGER, updated_at INTEGER,
 finished_at INTEGER, provider TEXT, is_summary_message INTEGER DEFAULT 0);
INSERT INTO sessions VALUES ('c-1', NULL, 'The mill', 6, 900, 40, 0.5, 1795255400, 1795255200, 'm-5'), ('c-2', 'c-1', 'Look', 1, 0, 0, 0, 1795255300, 1795255250, NULL);
INSERT INTO messages (id, session_id, role, parts, model, created_at) VALUES
 ('m-1', 'c-1', 'user', '[{"type":"text","data":{"text":"Why does the mill stop?"}},{"type":"finish","data":{"reason":"stop","time":0}}]', NULL, 1795255200),
 ('m-2', 'c-1', 'assistant', '[{"type":"reasoning","data":{"thinking":"look","signature":"c2ln"}},{"type":"text","data":{"text":"I look."}},{"type":"tool_call","data":{"id":"t1","name":"bash","input":"{\"command\":\"ls\"}","finished":true}},{"type":"finish","data":{"reason":"tool_use","time":1795255205}}]', 'claude-sonnet-4-5', 1795255205),
 ('m-3', 'c-1', 'tool', '[{"type":"tool_result","data":{"tool_call_id":"t1","name":"bash","content":"a.go","is_error":false}}]', NULL, 1795255206),
 ('m-4', 'c-1', 'assistant', '[{"type":"text","data":{"text":"The brake."}}]', 'claude-sonnet-4-5', 1795255207),
 ('m-5', 'c-1', 'assistant', '[{"type":"text","data":{"text":"The brake is stuck."}}]', 'claude-sonnet-4-5', 1795255300),
 ('m-6', 'c-1', 'user', '[{"type":"text","data":{"text":"And now?"}},{"type":"shell_command","data":{"command":"ls","output":"a.go","exit_code":1}},{"type":"binary","data":{"Path":"a.png","MIMEType":"image/png","Data":"aGk="}}]', NULL, 1795255310),
 ('m-7', 'c-1', 'user', '[]', NULL, 1795255311), ('m-8', 'c-1', 'pet', '[{"type":"text","data":{"text":"woof"}}]', NULL, 1795255311), ('m-9', 'c-2', 'user', '[{"type":"text","data":{"text":"Look."}}]', NULL, 1795255250);
