package protocol

import (
	"time"

	"github.com/signalbox/signalbox/protocol/rights"
)

// accessExamples are the examples of rights.
var accessExamples = []example{
	{"access-change", request(70, &AccessChange{
		Verb: AccessCreateToken, Principal: []byte("token:ci"), Hash: []byte("0123456789abcdef0123456789abcdef"),
		ExpiresMillis: 1_772_366_400_000,
		Operation:     Operation{Author: []byte("ann"), Reason: []byte("nightly runs"), Numbered: exampleNumbered()},
		Grants: []rights.Grant{
			{Role: "write", Path: "/prod/jobs", Object: "nightly-"}, {Role: "read", Path: "/"},
		},
	})},
	{"access-change-role", request(71, &AccessChange{
		Verb: AccessSetRole, Role: []byte("deploy"),
		Rules: []rights.Rule{{Path: "/", Object: "d-", Rights: RightOperate}},
	})},
	{"access-change-answer", answer(70, &AccessChangeAnswer{Existed: true, Since: 4712})},
	{"access-list", request(72, &AccessList{Roles: true, After: []byte("deploy"), Limit: 100})},
	{"access-list-answer", answer(72, &AccessListAnswer{
		Roles: []rights.Role{{Name: "deploy", Rules: []rights.Rule{{Path: "/", Rights: 17}}}},
		Principals: []rights.Principal{{
			Name: "cn:box.example", Created: time.UnixMilli(1_772_366_400_000), By: "ann",
			Grants: []rights.Grant{{Role: "read", Path: "/"}},
		}},
		Next: []byte("cn:box.example"), Decided: true,
	})},
	{"access-ask", request(73, &AccessAsk{
		Principal: []byte("token:ci"), Path: []byte("/prod/jobs"), Object: []byte("nightly-1"),
		Right: RightAcquire,
	})},
	{"access-ask-answer", answer(73, &AccessAskAnswer{More: true, Decisions: []rights.Decision{{
		Principal: "token:ci", Grant: rights.Grant{Role: "write", Path: "/prod/jobs"},
		Rule: rights.Rule{Path: "/prod/jobs", Rights: 7},
	}}})},
	{"access-denials", request(74, &AccessDenials{Limit: 10})},
	{"access-denials-answer", answer(74, &AccessDenialsAnswer{
		HostName: []byte("signal-3"), Total: 12,
		Denials: []rights.Denial{{
			At: time.UnixMilli(1_772_366_400_000), Who: "token:ci", Address: "10.0.0.9:51234",
			Request: "SEMAPHORE_DELETE", Rights: RightDelete, Path: "/prod/jobs", Object: "x",
		}},
	})},
	{"expiring", push(0, &Expiring{Token: []byte("ci"), LeftMillis: 60_000})},
}
