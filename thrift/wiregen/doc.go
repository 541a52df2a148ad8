// Command wiregen writes thrift/wire/conversions.go: the functions that copy a
// plain struct of Pigeon into its Thrift struct and back, field by field, and the
// methods of handlers and clients that do nothing but that with arguments and results.
//
// The pairs of structs are listed in pairs.go. Two fields belong together when their
// names are equal except for case, or when the Thrift name has the unit appended
// (Ran and ranNanos), or when aliases lists them; their types decide how the value
// is carried. A struct without a counterpart lies in the Thrift struct field by field
// (Running.Job.Hi is jobHi). A field on either side without a counterpart is an error,
// so that no field is forgotten on the way.
//
// The methods are listed in services.go, each with the method of our interface that it
// serves. Arguments belong together by position, or by the names of fields when ours are
// in a struct.
//
// What is read is checked before, on the Thrift struct, by functions of package wire.
// Translations that lay fields out differently, those of messages, payloads and requests,
// and methods that do more, are written by hand there.
//
//	go run ./thrift/wiregen . thrift/wire/conversions.go     (make generate does it)
package main
