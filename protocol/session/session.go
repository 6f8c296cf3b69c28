// Package session declares what a client reports about its session. The field list (Fields) is shared by the wire, the
// log, the client, the command line and HTTP: hosts and shards store the details without interpreting them.
package session

import "github.com/signalbox/signalbox/protocol/field"

// MaxDescription is the maximum description length, in bytes, and MaxSize the maximum size of the encoded details: a
// test compares MaxSize with the fields.
const (
	MaxDescription = 1024
	MaxSize        = 2048
)

// Details is what listings show about a session, as reported by its client.
type Details struct {
	// Description helps people to recognize the client.
	Description string `about:"Description shown in session lists"`
}

// Fields implements field.Value.
func (d *Details) Fields(c field.Coder) {
	c.Text("description", &d.Description, MaxDescription)
}
