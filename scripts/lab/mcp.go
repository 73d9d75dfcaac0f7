package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// serveMCP is the MCP server of scenario mcp: tools stock and price; open adds the tool order and says so; price fails
// for "none".
func serveMCP(in io.Reader, out io.Writer) error {
	tool := func(name string) map[string]any {
		return map[string]any{"name": name, "description": "the shop's " + name, "inputSchema": map[string]any{"type": "object", "properties": map[string]any{"item": map[string]any{"type": "string"}}}}
	}
	tools := []any{tool("stock"), tool("price"), tool("open")}
	encoder := json.NewEncoder(out)
	send := func(message map[string]any) {
		message["jsonrpc"] = "2.0"
		_ = encoder.Encode(message)
	}
	scanner := bufio.NewScanner(in)
	for scanner.Scan() {
		var request struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name            string
				ProtocolVersion string
				Arguments       struct{ Item string }
			}
		}
		if json.Unmarshal(scanner.Bytes(), &request) != nil || request.ID == nil {
			continue
		}
		answer := func(result any) { send(map[string]any{"id": request.ID, "result": result}) }
		switch request.Method {
		case "initialize":
			answer(map[string]any{
				"protocolVersion": request.Params.ProtocolVersion, "serverInfo": map[string]any{"name": "shop", "version": "1"},
				"capabilities": map[string]any{"tools": map[string]any{"listChanged": true}}, "instructions": "Ask stock before price.",
			})
		case "tools/list":
			answer(map[string]any{"tools": tools})
		case "tools/call":
			p := request.Params
			fails := p.Name == "price" && p.Arguments.Item == "none"
			answer(map[string]any{"content": []any{map[string]any{"type": "text", "text": fmt.Sprintf("%s of %s: 3", p.Name, p.Arguments.Item)}}, "isError": fails})
			if p.Name == "open" && len(tools) == 3 {
				tools = append(tools, tool("order"))
				send(map[string]any{"method": "notifications/tools/list_changed"})
			}
		case "ping":
			answer(map[string]any{})
		default:
			send(map[string]any{"id": request.ID, "error": map[string]any{"code": -32601, "message": "no such method"}})
		}
	}
	return scanner.Err()
}
