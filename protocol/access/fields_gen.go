// Code generated from the structs with wire tags by: go test ./test/tidy -run Values -update. DO NOT EDIT.

package access

import (
	"math"

	"github.com/signalbox/signalbox/protocol/field"
)

// Fields implements field.Value.
func (i *Identity) Fields(c field.Coder) {
	field.Enum(c, "kind", &i.Kind, math.MaxUint8)
	c.Text("name", &i.Name, longest(c, MaxName))
}

// Fields implements field.Value.
func (p *Principal) Fields(c field.Coder) {
	c.Text("principal", &p.Name, maxPrincipal)
	field.Time(c, "expires_ms", &p.Expires)
	field.Time(c, "created_ms", &p.Created)
	c.Text("author", &p.By, MaxName)
	field.List(c, "grants", &p.Grants, MaxGrants, (*Grant).Fields)
	c.Text("sha256", &p.SHA256, maxHash)
}

// Fields implements field.Value.
func (d *Decision) Fields(c field.Coder) {
	c.Text("principal", &d.Principal, maxPrincipal)
	c.Record("grant", d.Grant.Fields)
	c.Record("rule", d.Rule.Fields)
}

// Fields implements field.Value.
func (d *Denial) Fields(c field.Coder) {
	field.Time(c, "at_ms", &d.At)
	c.Text("principal", &d.Who, maxPrincipal)
	c.Text("address", &d.Address, maxAddress)
	c.Text("request", &d.Request, maxRequest)
	c.Number("right", (*uint64)(&d.Rights))
	c.Text("path", &d.Path, MaxPath)
	c.Text("object", &d.Object, MaxObject)
}

// Fields implements field.Value.
func (r *Rule) Fields(c field.Coder) {
	c.Text("path", &r.Path, longest(c, MaxPath))
	c.Text("object", &r.Object, longest(c, MaxObject))
	c.Number("rights", (*uint64)(&r.Rights))
}

// Fields implements field.Value.
func (g *Grant) Fields(c field.Coder) {
	c.Text("role", &g.Role, longest(c, MaxName))
	c.Text("path", &g.Path, longest(c, MaxPath))
	c.Text("object", &g.Object, longest(c, MaxObject))
}

// Fields implements field.Value.
func (r *Role) Fields(c field.Coder) {
	c.Text("name", &r.Name, MaxName)
	field.List(c, "rules", &r.Rules, MaxRules, (*Rule).Fields)
}
