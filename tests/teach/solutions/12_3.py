def answer():
    from workbench import relay
    from workbench.core.rewrite import RuleTable
    from workbench.relay.patterns import any_, op
    from workbench.relay.transforms.rules import apply_rules

    table = RuleTable("there-and-back")

    @table.rule("relu-anywhere", op("layout_transform", op("nn.relu", op("layout_transform", any_("x")))))
    def relu_anywhere(m):
        """Elements are moved there and back: relu does not mind."""
        return relay.nn.relu(m["x"])

    @relay.transform.function_pass(opt_level=1, name="ThereAndBack")
    def run(function, mod, ctx):
        return apply_rules(function, table)

    return relay.transform.Sequential([relay.transform.InferType(), run])
