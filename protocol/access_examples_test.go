package protocol

import (
	"time"

	"github.com/signalbox/signalbox/protocol/access"
)

// accessExamples are the examples for access rules.
var accessExamples = []example{
	{"access-change", request(70, &AccessChange{
		Action: AccessCreateToken, Principal: []byte("token:ci"), Hash: []byte("0123456789abcdef0123456789abcdef"),
		ExpiresMillis: 1_772_366_400_000,
		Operation: Operation{
			Author: []byte("ann"), Reason: []byte("nightly runs"), Idempotency: exampleIdempotency(),
		},
		Grants: []access.Grant{
			{Role: "write", Path: "/prod/jobs", Object: "nightly-"}, {Role: "read", Path: "/"},
		},
	})},
	{"access-change-role", request(71, &AccessChange{
		Action: AccessSetRole, Role: []byte("deploy"),
		Rules: []access.Rule{{Path: "/", Object: "d-", Rights: RightOperate}},
	})},
	{"access-change-import", request(75, &AccessChange{
		Action: AccessImport, Roles: []access.Role{{Name: "deploy", Rules: []access.Rule{{Path: "/", Rights: 17}}}},
		Principals: []access.Principal{{Name: "token:ci", Grants: []access.Grant{{Role: "deploy", Path: "/"}},
			SHA256: "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}},
	})},
	{"access-change-answer", answer(70, &AccessChangeAnswer{Existed: true, Since: 4712})},
	{"access-list", request(72, &AccessList{Roles: true, After: []byte("deploy"), Limit: 100, Export: true})},
	{"access-list-answer", answer(72, &AccessListAnswer{
		Roles: []access.Role{{Name: "deploy", Rules: []access.Rule{{Path: "/", Rights: 17}}}},
		Principals: []access.Principal{{
			Name: "cn:box.example", Created: time.UnixMilli(1_772_366_400_000), By: "ann",
			Grants: []access.Grant{{Role: "read", Path: "/"}},
		}},
		Next: []byte("cn:box.example"), Open: true,
	})},
	{"access-check", request(73, &AccessCheck{
		Principal: []byte("token:ci"), Path: []byte("/prod/jobs"), Object: []byte("nightly-1"),
		Right: RightAcquire,
	})},
	{"access-check-answer", answer(73, &AccessCheckAnswer{More: true, Decisions: []access.Decision{{
		Principal: "token:ci", Grant: access.Grant{Role: "write", Path: "/prod/jobs"},
		Rule: access.Rule{Path: "/prod/jobs", Rights: 7},
	}}})},
	{"access-denials", request(74, &AccessDenials{Limit: 10})},
	{"access-denials-answer", answer(74, &AccessDenialsAnswer{
		HostName: []byte("signal-3"), Total: 12,
		Denials: []access.Denial{{
			At: time.UnixMilli(1_772_366_400_000), Who: "token:ci", Address: "10.0.0.9:51234",
			Request: "SEMAPHORE_DELETE", Rights: RightDelete, Path: "/prod/jobs", Object: "x",
		}},
	})},
	{"token-expiring", push(0, &TokenExpiring{Token: []byte("ci"), LeftMillis: 60_000})},
}
