// Package access has the access control types that several packages share: rights by name, rules, roles, grants, and
// principals as readers see them. Each type lists its fields once (Fields), for the wire, the meta shard's log, the
// client, the command line and HTTP. The book with all roles and principals is in shard/access.
//
// Start with Rule.
//
// Wire and log differ in two ways. A principal is one text on the wire (String, ParseIdentity), and a kind and a name
// in the log (Identity.Fields). A text in the log may have any length: Check refuses texts above the limits, and the
// refusal is part of the shard's state.
package access
