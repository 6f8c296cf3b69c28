// Package access has the types of rights that more than one room knows: rights by name, rules, roles, grants, and the
// views of principals. Each type has one listing of its fields (Fields), which the wire, the log of the meta
// shard, the client, the command line and HTTP share. The book of all roles and principals is in shard/access.
//
// Start with Rule.
//
// Wire and log differ in two things. A principal is one text on the wire (String, ParseIdentity), and a kind and a name
// in the log (Identity.Fields). A text in the log may have any length: Check refuses texts above the limits, and the
// refusal is part of the state of a shard.
package access
